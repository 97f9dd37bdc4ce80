"""Modules and factories as users write them, for `package.module:factory`."""

import time

import torch
from torch import Tensor, nn

NOT_A_FACTORY = 3


def plain() -> nn.Module:
    """A factory without arguments, for images of 1x8x8 and 4 classes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 4))


def sized(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A factory that is told the samples' shape and the number of classes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(int(torch.tensor(shape).prod()), classes))


def batch_norm(shape: tuple[int, ...], classes: int) -> nn.Module:
    """BatchNorm: float buffers (mean, variance) and a whole-number one (the count of batches)."""
    return nn.Sequential(
        nn.Conv2d(shape[0], 3, 3, padding=1),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(3 * shape[1] * shape[2], classes),
    )


def dropout(shape: tuple[int, ...], classes: int) -> nn.Module:
    """Dropout: draws random numbers in training."""
    features = int(torch.tensor(shape).prod())
    return nn.Sequential(
        nn.Flatten(), nn.Linear(features, 12), nn.ReLU(), nn.Dropout(0.4), nn.Linear(12, classes)
    )


def frozen(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A body that is not trained, and a head that is."""
    module = sized_body(shape, classes)
    for parameter in module[1].parameters():
        parameter.requires_grad_(False)
    return module


def sized_body(shape: tuple[int, ...], classes: int) -> nn.Sequential:
    """Two layers."""
    features = int(torch.tensor(shape).prod())
    return nn.Sequential(nn.Flatten(), nn.Linear(features, 7), nn.Tanh(), nn.Linear(7, classes))


def all_frozen() -> nn.Module:
    """Nothing to train."""
    module = nn.Linear(64, 4)
    module.requires_grad_(False)
    return module


def not_a_module() -> int:
    """A factory that returns something else."""
    return 7


class Scale(nn.Module):
    """A class is a factory too; it has one parameter and an unused one that never gets a gradient."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(classes, int(torch.tensor(shape).prod())))
        self.idle = nn.Parameter(torch.ones(3))

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) @ self.weight.T


class Jealous(nn.Module):
    """Draws random numbers like Dropout, and notices how many threads are inside at the same time."""

    inside = 0
    most = 0

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(int(torch.tensor(shape).prod()), classes)

    def forward(self, x: Tensor) -> Tensor:
        Jealous.inside += self.training
        Jealous.most = max(Jealous.most, Jealous.inside)
        time.sleep(0.002)
        noise = torch.rand_like(x) if self.training else torch.zeros_like(x)
        Jealous.inside -= self.training
        outputs: Tensor = self.linear((x + noise).flatten(1))
        return outputs
