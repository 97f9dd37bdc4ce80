"""In memory, in half precision: bfloat16, which has the range of float32 and 8 bits of its digits."""

import torch
from torch import Tensor

from bherd.stores.base import Store, Traced


class HalfStore(Store):
    """2 bytes a number. What is selected, and the sum of it, is computed from the rounded gradients."""

    name = "half"

    def rows(self, steps: int, like: Tensor) -> Traced:
        return _Half(steps, like)

    def bytes(self, steps: int, width: int, itemsize: int) -> int:
        return steps * width * 2 + width * itemsize


class _Half(Traced):
    def __init__(self, steps: int, like: Tensor) -> None:
        self._half = like.new_empty((steps, len(like)), dtype=torch.bfloat16)
        self._row = torch.empty_like(like)

    def row(self, step: int) -> Tensor:
        del step
        return self._row.zero_()

    def done(self, step: int) -> None:
        self._half[step].copy_(self._row)

    @property
    def trace(self) -> Tensor:
        return self._half
