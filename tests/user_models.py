"""Modules and factories as users write them, for `package.module:factory`."""

import random
import time

import numpy as np
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


class Noisy(nn.Module):
    """Adds noise to its inputs, from a generator that the whole process shares."""

    draws_in_evaluation = False
    smallest = 0
    """Batches below this size are left alone."""

    def __init__(self, shape: tuple[int, ...], classes: int, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.linear = nn.Linear(int(torch.tensor(shape).prod()), classes)

    def forward(self, x: Tensor) -> Tensor:
        x = x.flatten(1)
        if (self.training or self.draws_in_evaluation) and len(x) >= self.smallest:
            if self.kind == "numpy":
                x = x + torch.from_numpy(np.random.standard_normal(tuple(x.shape))).to(x)
            elif self.kind == "python":
                x = x * random.gauss(1.0, 0.5)
            else:
                x = x + torch.randn_like(x)
        outputs: Tensor = self.linear(x)
        return outputs


class SometimesNoisy(Noisy):
    """Noise that a pass with two samples does not show."""

    smallest = 5


class AlwaysNoisy(Noisy):
    """As a model that samples its predictions."""

    draws_in_evaluation = True


def numpy_noise(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A start that numpy draws too."""
    module = Noisy(shape, classes, "numpy")
    weight = module.linear.weight
    with torch.no_grad():
        weight.add_(torch.from_numpy(np.random.uniform(-0.1, 0.1, tuple(weight.shape))))
    return module


def python_noise(shape: tuple[int, ...], classes: int) -> nn.Module:
    """A start that Python draws too."""
    module = Noisy(shape, classes, "python")
    with torch.no_grad():
        module.linear.bias.add_(random.random())
    return module


def torch_noise(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Noisy(shape, classes, "torch")


def sometimes_numpy_noise(shape: tuple[int, ...], classes: int) -> nn.Module:
    return SometimesNoisy(shape, classes, "numpy")


def always_numpy_noise(shape: tuple[int, ...], classes: int) -> nn.Module:
    return AlwaysNoisy(shape, classes, "numpy")


def always_torch_noise(shape: tuple[int, ...], classes: int) -> nn.Module:
    return AlwaysNoisy(shape, classes, "torch")


class _NoisyGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        del ctx
        return x.clone()

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> Tensor:
        del ctx
        return gradients[0] + 0.01 * random.random()


class NoisyBackward(nn.Module):
    """Draws on the way back only."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(int(torch.tensor(shape).prod()), classes)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = _NoisyGradient.apply(self.linear(x.flatten(1)))  # type: ignore[no-untyped-call]
        return outputs


class OwnGenerator(nn.Module):
    """Draws from a generator that nobody else can seed."""

    def __init__(self, shape: tuple[int, ...], classes: int) -> None:
        super().__init__()
        self.draw = np.random.default_rng(0)
        self.linear = nn.Linear(int(torch.tensor(shape).prod()), classes)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.linear(x.flatten(1) * self.draw.random())
        return outputs


class Counting(nn.Module):
    """Grows with every pass; in a buffer, or where nobody sees it."""

    def __init__(self, shape: tuple[int, ...], classes: int, in_buffer: bool = False) -> None:
        super().__init__()
        self.in_buffer = in_buffer
        self.passes = 1.0
        self.register_buffer("count", torch.ones(()))
        self.linear = nn.Linear(int(torch.tensor(shape).prod()), classes)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.get_buffer("count") if self.in_buffer else self.passes
        outputs: Tensor = self.linear(x.flatten(1) / scale)
        if self.training:
            self.passes += 1
            self.get_buffer("count").add_(1)
        return outputs


def counting_in_a_buffer(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Counting(shape, classes, in_buffer=True)
