"""Three lines into a PyTorch loop of your own: two clients, FedAvg by hand, herded updates.

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
lr, alpha = 0.1, 0.5

for round in range(1, 11):
    updates = []
    for x, y in clients:
        local = copy.deepcopy(model)
        optimizer = torch.optim.SGD(local.parameters(), lr=lr)
        collector = bherd.Collector(local, alpha=alpha)  # 1: watch the model
        for inputs, targets in zip(x.split(20), y.split(20), strict=True):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(local(inputs), targets).backward()
            collector.record()  # 2: keep this step's gradient
            optimizer.step()
        updates.append(collector.herd())  # 3: the sum of the kept gradients, and which they are
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mean = sum(update.named[name] for update in updates) / len(updates)
            parameter -= lr / alpha * mean
        hits = sum(int((model(x).argmax(1) == y).sum()) for x, y in clients)
    kept = ", ".join(str(sorted(update.kept.tolist())) for update in updates)
    print(f"round {round:2}: accuracy {hits / 400:.1%}, kept steps {kept}")
