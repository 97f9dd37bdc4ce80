"""Herding: keep the gradients whose running sum stays closest to the mean (BHerd).

Luo et al., "Accelerating Federated Learning by Selecting Beneficial Herd of Local Gradients",
Algorithm "Herding with Greedy Ordering"; the greedy order goes back to Welling (2009).
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.algorithms import small
from bherd.algorithms.exact_ties import ExactTies
from bherd.algorithms.gram import centred_gram
from bherd.algorithms.greedy import take_until_tie
from bherd.algorithms.scaling import squares_in_range
from bherd.algorithms.share import kept_count
from bherd.algorithms.trace import Indices, as_trace

Floats = npt.NDArray[np.floating]

_TIE = {torch.float64: 1e-12}
_TIE_FLOAT32 = 1e-5


def herd(gradients: npt.ArrayLike | Tensor, alpha: float = 0.5) -> Indices:
    """Which of the gradients, an array of shape (steps, d), BHerd keeps: indices in herding order.

    >>> herd([[0.0], [10.0], [4.0], [6.0]], alpha=0.5)
    array([2, 3])
    """
    trace = as_trace(gradients)
    return herding_order(trace, kept_count(alpha, len(trace)))


def herding_order(trace: Tensor, count: int) -> Indices:
    """The first `count` indices of the greedy herding order of a trace of shape (steps, d).

    Since ||s + z||^2 = ||s||^2 + ||z||^2 + 2<s, z>, the scores need only the Gram matrix of the
    centred gradients: one matrix product, then a loop over vectors of length tau, instead of the
    tau^2 vector norms of the pseudo-code. Where rounding could decide (scores that agree to the
    precision of the product), the norms themselves are compared in double precision.
    """
    steps = len(trace)
    if count == steps == 1:
        return np.zeros(1, dtype=np.int64)
    order = np.empty(count, dtype=np.int64)
    rows, gram, scores, tie, rank = _begin_small(trace, order) or _begin(trace, order)
    exact: ExactTies | None = None
    while rank < count:
        exact = exact or ExactTies(rows)
        best = exact.nearest_exactly(order[:rank], np.flatnonzero(scores <= scores.min() + tie))
        order[rank] = best
        scores += 2 * gram[best]
        scores[best] = np.inf
        rank = take_until_tie(gram, scores, tie, order, rank + 1)
    return order


class _Begun(NamedTuple):
    """Herding as far as the first tie."""

    rows: Tensor
    """The trace, rescaled if it had to be."""
    gram: Floats
    scores: Floats
    tie: float
    """What differs by less may differ by rounding alone."""
    rank: int
    """Places of the order that are filled."""


def _begin(trace: Tensor, order: Indices) -> _Begun:
    rows, gram = centred_gram(trace)
    scores = gram.diagonal().copy()
    tie = _tie(trace) * float(scores.max())
    return _Begun(rows, gram, scores, tie, take_until_tie(gram, scores, tie, order, 0))


def _begin_small(trace: Tensor, order: Indices) -> _Begun | None:
    """The same in one compiled call, where that is the faster way and squares stay in range."""
    rows = small.as_small(trace)
    if rows is None:
        return None
    tie, steps = _tie(trace), len(rows)
    gram, scores = np.empty((steps, steps), rows.dtype), np.empty(steps)
    rank, largest = small.load()(rows, tie, gram, scores, order)
    # Zero may be an underflow; the largest entry is not above the longest row, nor far below it.
    if not (0 < largest < math.inf and squares_in_range(math.sqrt(largest), trace.dtype)):
        return None
    return _Begun(trace, gram, scores, tie * largest, rank)


def _tie(trace: Tensor) -> float:
    return _TIE.get(trace.dtype, _TIE_FLOAT32)
