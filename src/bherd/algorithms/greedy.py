"""The greedy part of herding: a loop over numbers that a Gram matrix gives."""

from typing import Any

import numpy as np
import numpy.typing as npt

from bherd import compiled
from bherd.algorithms import small

Array = npt.NDArray[Any]


def take_until_tie(gram: Array, scores: Array, tie: float, order: Array, rank: int) -> int:
    """Fill order[rank:] with the lowest scores, one by one, and return how far that went.

    It stops before a place that two or more scores within `tie` of each other compete for. `scores`
    holds ||s + z||^2 - ||s||^2 of every candidate, infinity for those taken, and is kept up to date.
    """
    if compiled.in_use():
        return int(compiled.fast(small.take_until_tie)(gram, scores, tie, order, rank))
    return _by_arrays(gram, scores, tie, order, rank)


def _by_arrays(gram: Array, scores: Array, tie: float, order: Array, rank: int) -> int:
    """The same bits, without a compiler."""
    for place in range(rank, len(order)):
        best = scores.argmin()
        if np.count_nonzero(scores <= scores[best] + tie) != 1:
            return place
        order[place] = best
        scores += 2 * gram[best]
        scores[best] = np.inf
    return len(order)
