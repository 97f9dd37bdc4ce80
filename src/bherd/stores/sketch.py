"""Sketches: a few thousand numbers for each gradient, then the local steps once more.

Charikar, Chen, Farach-Colton, "Finding Frequent Items in Data Streams" (2002), whose count sketch is
used here as a random projection. Each coordinate is given a random sign and added to one of `width`
places: inner products are right on average, with an error of about ||x|| ||y|| / sqrt(width).
Herding needs nothing but inner products, so it is done on the sketches; then the client trains again
from the same start, and sums the gradients that were kept. Memory O(d + tau width) instead of
O(tau d), for twice the local work.
"""

import numpy as np
import torch
from torch import Tensor

from bherd.stores.base import Store, Traced
from bherd.streams import stream

WIDTH = 4096


class SketchStore(Store):
    """Exact where a gradient has no more than `width` numbers."""

    name = "sketch"
    replays = True

    def __init__(self, seed: int, width: int = WIDTH) -> None:
        self.seed, self.width = seed, width
        self._signs: Tensor | None = None

    def rows(self, steps: int, like: Tensor) -> Traced:
        return _Sketched(steps, like, min(self.width, len(like)), self._signs_for(like))

    def bytes(self, steps: int, width: int, itemsize: int) -> int:
        """The sketches; and four vectors: signs, a gradient, and the two sums of the second pass."""
        return (steps * min(self.width, width) + 4 * width) * itemsize

    def _signs_for(self, like: Tensor) -> Tensor:
        signs = self._signs
        if signs is None or len(signs) != len(like) or signs.dtype != like.dtype:
            draw = stream(self.seed, "sketch").integers(0, 2, len(like), dtype=np.int8)
            signs = torch.from_numpy(2 * draw - 1).to(like)
            self._signs = signs
        return signs


class _Sketched(Traced):
    def __init__(self, steps: int, like: Tensor, width: int, signs: Tensor) -> None:
        self._sketches = like.new_empty((steps, width))
        self._padded = like.new_zeros(-(-len(like) // width) * width)
        self._row = self._padded[: len(like)]
        self._folds = self._padded.view(-1, width)
        self._signs = signs

    def row(self, step: int) -> Tensor:
        del step
        return self._row.zero_()

    def done(self, step: int) -> None:
        self._row *= self._signs
        torch.sum(self._folds, 0, out=self._sketches[step])

    @property
    def trace(self) -> Tensor:
        return self._sketches
