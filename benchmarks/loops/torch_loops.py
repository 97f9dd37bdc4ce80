"""FedAvg in PyTorch: the loop that one writes first, and a tight one."""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.func import functional_call
from torch.utils.data import DataLoader, TensorDataset

from bherd.tasks.task import Task

Cohort = Callable[[], Sequence[int]]


class PlainLoop:
    """Modules, DataLoaders, an optimizer for each client, a mean of state dicts."""

    def __init__(self, task: Task, batch: int, lr: float, cohort: Cohort, evaluate: bool) -> None:
        self.task, self.lr, self.cohort, self.evaluate = task, lr, cohort, evaluate
        self.loaders = [
            DataLoader(TensorDataset(*task.samples(client)), batch_size=batch, drop_last=True)
            for client in range(task.clients)
        ]
        self.model = copy.deepcopy(task.model.module)
        self.accuracies: list[float] = []

    def round(self) -> None:
        states, sizes = [], []
        chosen = self.cohort()
        for client in chosen:
            local = copy.deepcopy(self.model)
            decayed = [p for p in local.parameters() if p.ndim > 1]
            free = [p for p in local.parameters() if p.ndim <= 1]
            groups = [{"params": decayed, "weight_decay": self.task.model.decay}, {"params": free}]
            optimizer = torch.optim.SGD(groups, lr=self.lr)
            for x, y in self.loaders[client]:
                optimizer.zero_grad()
                self.task.model.loss(local(x), y).backward()
                optimizer.step()
            states.append(local.state_dict())
            sizes.append(self.task.size(client))
        total = sum(sizes)
        mean = {k: sum(s[k] * (n / total) for s, n in zip(states, sizes, strict=True)) for k in states[0]}
        self.model.load_state_dict(mean)
        if self.evaluate:
            self.accuracies.append(accuracy(self.task, self.model))


class TightLoop:
    """Slices of one tensor, gradients by one call, all parameters moved by one call."""

    def __init__(self, task: Task, batch: int, lr: float, cohort: Cohort, evaluate: bool) -> None:
        self.task, self.lr, self.cohort, self.evaluate = task, lr, cohort, evaluate
        samples = [task.samples(client) for client in range(task.clients)]
        if task.x_train.ndim == 4:
            samples = [(x.contiguous(memory_format=torch.channels_last), y) for x, y in samples]
        self.batches = [
            [b for b in zip(x.split(batch), y.split(batch), strict=True) if len(b[1]) == batch]
            for x, y in samples
        ]
        self.names = [name for name, _ in task.model.module.named_parameters()]
        self.params = [p.detach().clone() for p in task.model.module.parameters()]
        if task.x_train.ndim == 4:
            layout = torch.channels_last
            self.params = [p.contiguous(memory_format=layout) if p.ndim == 4 else p for p in self.params]
        self.accuracies: list[float] = []

    def round(self) -> None:
        model, chosen = self.task.model, self.cohort()
        total = sum(self.task.size(client) for client in chosen)
        mean = [torch.zeros_like(p) for p in self.params]
        for client in chosen:
            local = [p.clone().requires_grad_() for p in self.params]
            for x, y in self.batches[client]:
                outputs = functional_call(model.module, dict(zip(self.names, local, strict=True)), x)
                loss = model.loss(outputs, y)
                if model.decay:
                    loss = loss + 0.5 * model.decay * sum(p.square().sum() for p in local if p.ndim > 1)
                gradients = torch.autograd.grad(loss, local)
                with torch.no_grad():
                    torch._foreach_add_(local, gradients, alpha=-self.lr)
            with torch.no_grad():
                torch._foreach_add_(mean, local, alpha=self.task.size(client) / total)
        self.params = mean
        if self.evaluate:
            named = dict(zip(self.names, mean, strict=True))
            self.accuracies.append(accuracy(self.task, lambda x: functional_call(model.module, named, x)))


def accuracy(task: Task, model: Callable[[Tensor], Tensor]) -> float:
    """Test accuracy, a thousand samples at a time."""
    with torch.no_grad():
        hits = sum(
            int(task.model.hits(model(x), y))
            for x, y in zip(task.x_test.split(1000), task.y_test.split(1000), strict=True)
        )
    return hits / len(task.y_test)
