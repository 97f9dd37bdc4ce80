"""The greedy part of herding: a loop over numbers that a Gram matrix gives."""

from typing import Any

import numpy as np
import numpy.typing as npt

from bherd import compiled

Array = npt.NDArray[Any]


def take_until_tie(gram: Array, scores: Array, tie: float, order: Array, rank: int) -> int:
    """Fill order[rank:] with the lowest scores, one by one, and return how far that went.

    It stops before a place that two or more scores within `tie` of each other compete for. `scores`
    holds ||s + z||^2 - ||s||^2 of every candidate, infinity for those taken, and is kept up to date.
    """
    run = compiled.fast(_loop) if compiled.in_use() else _loop_by_arrays
    return int(run(gram, scores, tie, order, rank))


def _loop(gram: Array, scores: Array, tie: float, order: Array, rank: int) -> int:
    for place in range(rank, len(order)):
        best = 0
        for candidate in range(1, len(scores)):
            if scores[candidate] < scores[best]:
                best = candidate
        rivals = 0
        for candidate in range(len(scores)):
            if scores[candidate] <= scores[best] + tie:
                rivals += 1
        if rivals != 1:
            return place
        order[place] = best
        for candidate in range(len(scores)):
            scores[candidate] += 2 * gram[best, candidate]
        scores[best] = np.inf
    return len(order)


def _loop_by_arrays(gram: Array, scores: Array, tie: float, order: Array, rank: int) -> int:
    """The same bits, without a compiler."""
    for place in range(rank, len(order)):
        best = scores.argmin()
        if np.count_nonzero(scores <= scores[best] + tie) != 1:
            return place
        order[place] = best
        scores += 2 * gram[best]
        scores[best] = np.inf
    return len(order)
