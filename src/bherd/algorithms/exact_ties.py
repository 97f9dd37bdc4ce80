"""Ties of the greedy step, which the rounding of a Gram matrix must not decide."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from bherd.algorithms.trace import Indices

_NUMBERS = 2**20


class ExactTies:
    """Decides ties by the norms themselves, in double precision and without a division.

    With c the gradients less the first of them, tau (s + z) is tau (sum of the taken c + c of the
    candidate) - (number taken + 1) (sum of all c): exact for whole numbers, so that a true tie is seen.
    """

    def __init__(self, rows: Tensor) -> None:
        self._rows = rows
        self._first = rows[0].to(torch.float64)
        self._all = self._sum(np.arange(len(rows), dtype=np.int64))

    def nearest_exactly(self, taken: Indices, candidates: Indices) -> int:
        """Of the candidates, the one with the smallest ||s + z||; the lowest index where they are equal."""
        steps, number = len(self._rows), len(taken) + 1
        base = steps * self._sum(taken) - number * self._all
        norms = torch.cat([(steps * part + base).square().sum(1) for part in self._parts(candidates)])
        return int(candidates[int(norms.cpu().numpy().argmin())])

    def _sum(self, indices: Indices) -> Tensor:
        total = torch.zeros_like(self._first)
        for part in self._parts(indices):
            total += part.sum(0)
        return total

    def _parts(self, indices: Indices) -> Iterator[Tensor]:
        """The shifted gradients of these indices, a few at a time to spare memory."""
        at_once = max(1, min(64, _NUMBERS // max(1, self._rows.shape[1])))
        for some in torch.split(torch.from_numpy(indices), at_once):
            yield self._rows[some.to(self._rows.device)].to(torch.float64) - self._first
