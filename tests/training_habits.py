"""Ways to train: optimizers and loops as people write them, for what must hold for all of them."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Optimizer

Loop = Callable[[nn.Sequential, Optimizer], None]
Batches = list[tuple[Tensor, Tensor]]


class Habit(NamedTuple):
    """A way to train."""

    model: Callable[[], nn.Sequential]
    optimizer: Callable[[nn.Sequential], Optimizer]
    loop: Loop
    steps: int


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def words() -> nn.Sequential:
    return nn.Sequential(nn.EmbeddingBag(20, 4, sparse=True), nn.Linear(4, 3, bias=False))


def half_frozen() -> nn.Sequential:
    model = network()
    for parameter in model[0].parameters():
        parameter.requires_grad_(False)
    return model


def batches(model: nn.Sequential, count: int = 8) -> Batches:
    draw = torch.Generator().manual_seed(1)
    labels = [torch.randint(3, (10,), generator=draw) for _ in range(count)]
    if isinstance(model[0], nn.EmbeddingBag):
        return [(torch.randint(20, (10, 5), generator=draw), y) for y in labels]
    return [(torch.randn(10, 6, generator=draw), y) for y in labels]


def backward(model: nn.Sequential, x: Tensor, y: Tensor) -> float:
    loss = functional.cross_entropy(model(x), y)
    torch.autograd.backward(loss)  # loss.backward(), which has no types
    return loss.item()


def plain(model: nn.Sequential, optimizer: Optimizer) -> None:
    for x, y in batches(model):
        optimizer.zero_grad()
        backward(model, x, y)
        optimizer.step()


def clipped(model: nn.Sequential, optimizer: Optimizer) -> None:
    for x, y in batches(model):
        optimizer.zero_grad()
        backward(model, x, y)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()


def accumulated(model: nn.Sequential, optimizer: Optimizer) -> None:
    for number, (x, y) in enumerate(batches(model), start=1):
        backward(model, x, y)
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()


def scheduled(model: nn.Sequential, optimizer: Optimizer) -> None:
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    for x, y in batches(model):
        optimizer.zero_grad()
        backward(model, x, y)
        optimizer.step()
        schedule.step()


def warmed_up(model: nn.Sequential, optimizer: Optimizer) -> None:
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / 8)  # from 0
    for x, y in batches(model):
        optimizer.zero_grad()
        backward(model, x, y)
        optimizer.step()
        schedule.step()


def with_closure(model: nn.Sequential, optimizer: Optimizer) -> None:
    for x, y in batches(model):

        def closure(x: Tensor = x, y: Tensor = y) -> float:
            optimizer.zero_grad()
            return backward(model, x, y)

        optimizer.step(closure)


def scaled(model: nn.Sequential, optimizer: Optimizer) -> None:
    """The third of eight steps overflows, and the scaler skips it."""
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for number, (x, y) in enumerate(batches(model)):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        torch.autograd.backward(scaler.scale(loss))
        if number == 2:
            parameter = next(p for p in model.parameters() if p.grad is not None)
            assert parameter.grad is not None
            parameter.grad.fill_(float("inf"))
        scaler.step(optimizer)
        scaler.update()


def sgd(model: nn.Sequential) -> Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.5)


def groups(model: nn.Sequential) -> Optimizer:
    body: dict[str, object] = {"params": model[0].parameters(), "lr": 0.01}
    head: dict[str, object] = {"params": model[2].parameters()}
    return torch.optim.SGD([body, head], lr=0.5, momentum=0.9)


HABITS = {
    "SGD": Habit(network, sgd, plain, 8),
    "SGD with momentum": Habit(
        network, lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), plain, 8
    ),
    "SGD with Nesterov and weight decay": Habit(
        network,
        lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
        plain,
        8,
    ),
    "Adam": Habit(network, lambda m: torch.optim.Adam(m.parameters(), lr=1e-3), plain, 8),
    "AdamW": Habit(network, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2, weight_decay=0.3), plain, 8),
    "RMSprop": Habit(network, lambda m: torch.optim.RMSprop(m.parameters(), lr=1e-3), plain, 8),
    "Adadelta": Habit(network, lambda m: torch.optim.Adadelta(m.parameters()), plain, 8),
    "Rprop": Habit(network, lambda m: torch.optim.Rprop(m.parameters()), plain, 8),
    "a rate that is a tensor": Habit(
        network, lambda m: torch.optim.Adam(m.parameters(), lr=torch.tensor(1e-2)), plain, 8
    ),
    "several rates": Habit(network, groups, plain, 8),
    "clipping between backward and step": Habit(network, sgd, clipped, 8),
    "accumulation": Habit(network, sgd, accumulated, 2),
    "StepLR inside the round": Habit(network, sgd, scheduled, 8),
    "warm-up from a rate of 0": Habit(network, sgd, warmed_up, 8),
    "LBFGS": Habit(network, lambda m: torch.optim.LBFGS(m.parameters(), lr=0.1), with_closure, 8),
    "Adam with a closure": Habit(network, lambda m: torch.optim.Adam(m.parameters()), with_closure, 8),
    "sparse gradients": Habit(words, sgd, plain, 8),
    "frozen parameters": Habit(half_frozen, sgd, plain, 8),
    "GradScaler": Habit(network, sgd, scaled, 7),
    "GradScaler, fused": Habit(
        network, lambda m: torch.optim.SGD(m.parameters(), lr=0.5, fused=True), scaled, 7
    ),
}
