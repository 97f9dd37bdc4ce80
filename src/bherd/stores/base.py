"""The contract of a gradient store.

Training writes each corrected gradient into `row(step)` and says `done(step)`; afterwards `trace` is
what the selector is shown, of shape (steps, width).
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from bherd.parts.records import Kept


class Rows(ABC):
    """One client's gradients of one round, while they are being written."""

    @abstractmethod
    def row(self, step: int) -> Tensor:
        """A vector of zeros, of shape (d,), to write the gradient of this step into."""

    @abstractmethod
    def done(self, step: int) -> None:
        """The row of this step has been written and is needed no more: it may be overwritten."""


class Traced(Rows):
    """Rows that a selector can look at."""

    @property
    @abstractmethod
    def trace(self) -> Tensor:
        """The gradients, or what stands for them, of shape (steps, width)."""


class Dense(Traced):
    """Every gradient in its own precision, in one array that may be written in any way."""

    def __init__(self, array: Tensor) -> None:
        self.array = array

    def row(self, step: int) -> Tensor:
        return self.array[step].zero_()

    def done(self, step: int) -> None:
        del step

    @property
    def trace(self) -> Tensor:
        return self.array


class Summed(Rows):
    """Nothing but the sum of the gradients, for selectors that keep them all."""

    def __init__(self, like: Tensor) -> None:
        self.total = torch.zeros_like(like)
        self._row = torch.empty_like(like)

    def row(self, step: int) -> Tensor:
        del step
        return self._row.zero_()

    def done(self, step: int) -> None:
        del step
        self.total += self._row


class SummedTwice(Rows):
    """The sum of all gradients and the sum of the kept ones, for a second pass over the same steps."""

    def __init__(self, like: Tensor, kept: Kept) -> None:
        self.all = Summed(like)
        self.kept_sum = torch.zeros_like(like)
        self.squares = 0.0
        """The sum of all squared norms."""
        weights = [1.0] * len(kept.indices) if kept.weights is None else kept.weights.tolist()
        self._weights = dict(zip(kept.indices.tolist(), weights, strict=True))
        self._steps = 0

    def row(self, step: int) -> Tensor:
        return self.all.row(step)

    def done(self, step: int) -> None:
        self.all.done(step)
        self._steps += 1
        self.squares += float(torch.linalg.vector_norm(self.all._row)) ** 2
        if step in self._weights:
            self.kept_sum.add_(self.all._row, alpha=self._weights[step])

    def distance(self) -> float:
        """||mean of the kept gradients - mean of all||."""
        difference = self.kept_sum / sum(self._weights.values()) - self.all.total / self._steps
        return float(torch.linalg.vector_norm(difference))

    def spread(self) -> float:
        """The sum of the squared distances of all gradients from their mean."""
        mean = float(torch.linalg.vector_norm(self.all.total / self._steps))
        return self.squares - self._steps * mean**2


class Store(ABC):
    """A way of keeping gradients. `replays`: the kept ones must be computed again to be summed."""

    name: str
    replays: bool = False

    @abstractmethod
    def rows(self, steps: int, like: Tensor) -> Traced:
        """Room for one client's gradients, each of the shape, dtype and device of `like`."""

    @abstractmethod
    def bytes(self, steps: int, width: int, itemsize: int) -> int:
        """The memory that one client's gradients take, at the most."""
