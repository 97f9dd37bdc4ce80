"""Two lines around a PyTorch loop of your own: two clients, FedAvg by hand, herded updates.

Run it with `python examples/own_loop.py`.
"""

import copy

import torch

import bherd

torch.manual_seed(0)
model = torch.nn.Linear(4, 2)
truth = torch.randn(2, 4)
clients = []
for shift in (-1.0, 1.0):
    x = torch.randn(200, 4) + shift
    clients.append((x, (x @ truth.T).argmax(1)))
alpha = 0.5

for round in range(1, 11):
    updates = []
    for x, y in clients:
        local = copy.deepcopy(model)
        optimizer = torch.optim.SGD(local.parameters(), lr=0.1)  # or any other
        collector = bherd.Collector(local, optimizer, alpha=alpha)  # 1: record every step
        for inputs, targets in zip(x.split(20), y.split(20), strict=True):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(local(inputs), targets).backward()
            optimizer.step()
        updates.append(collector.herd())  # 2: the sum of the kept steps, and which they are
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            moved = sum(update.rate * update.named[name] for update in updates) / len(updates)
            parameter -= moved / alpha
        hits = sum(int((model(x).argmax(1) == y).sum()) for x, y in clients)
    kept = ", ".join(str(sorted(update.kept.tolist())) for update in updates)
    print(f"round {round:2}: accuracy {hits / 400:.1%}, kept steps {kept}")
