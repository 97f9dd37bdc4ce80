"""Herding of a small trace in one compiled call: no more Python than that, and half the multiplications.

The three functions run as they stand, slowly. They share a file because numba keeps what it has compiled
until the file changes.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd import compiled

Array = npt.NDArray[Any]

_SMALL = 2**20
_DTYPES = (torch.float32, torch.float64)


def as_small(trace: Tensor) -> Array | None:
    """The trace, if `load()` is the way: the compiler is there anyway, and calls cost more than work."""
    if not compiled.in_use() or trace.device.type != "cpu" or trace.dtype not in _DTYPES:
        return None
    rows: Array = trace.numpy()
    return rows if rows.size <= _SMALL else None


@functools.cache
def load() -> Callable[[Array, float, Array, Array, Array], tuple[int, float]]:
    """`begin`, compiled."""
    compiled.make_callable(small_gram, reordered_sums=True)
    compiled.make_callable(take_until_tie)
    return compiled.fast(begin)


def begin(trace: Array, tie: float, gram: Array, scores: Array, order: Array) -> tuple[int, float]:
    """Herd as far as the first tie: fill all arrays, return the places taken and the largest score.

    `tie` is a share of that score; `gram` and `scores` are as `take_until_tie` goes on with them.
    """
    largest = small_gram(trace, gram)
    for i in range(len(scores)):
        scores[i] = gram[i, i]
    return take_until_tie(gram, scores, tie * largest, order, 0), largest


def small_gram(trace: Array, gram: Array) -> float:
    """Write the inner products of the centred rows into `gram`; return the largest square of a row.

    The matrix is symmetric, so only tiles of 4 x 4 on and above the diagonal are computed; the 16 sums
    of a tile stay in registers. Rows are padded with zeros to whole vectors. `gram` has the type of the
    trace: no digit is known beyond it.
    """
    steps, real = trace.shape
    width = -(-real // 16) * 16
    number = trace.dtype.type
    tall = -(-steps // 4) * 4
    centred = np.empty((tall, width), trace.dtype)
    centred[steps:] = 0
    centred[:, real:] = 0
    mean = np.zeros(real, trace.dtype)
    for i in range(steps):
        for j in range(real):
            mean[j] += trace[i, j]
    mean /= number(steps)
    rest = np.zeros(real, trace.dtype)  # what rounding leaves of a mean that is large beside the rows
    for i in range(steps):
        for j in range(real):
            centred[i, j] = trace[i, j] - mean[j]
            rest[j] += centred[i, j]
    rest /= number(steps)
    for i in range(steps):
        for j in range(real):
            centred[i, j] -= rest[j]
    products = np.empty((tall, tall), trace.dtype)
    for y in range(0, tall, 4):
        a, b, c, d = centred[y], centred[y + 1], centred[y + 2], centred[y + 3]
        for x in range(y, tall, 4):
            p, q, r, s = centred[x], centred[x + 1], centred[x + 2], centred[x + 3]
            ap = aq = ar = as_ = bp = bq = br = bs = number(0)
            cp = cq = cr = cs = dp = dq = dr = ds = number(0)
            for j in range(width):
                ap += a[j] * p[j]
                aq += a[j] * q[j]
                ar += a[j] * r[j]
                as_ += a[j] * s[j]
                bp += b[j] * p[j]
                bq += b[j] * q[j]
                br += b[j] * r[j]
                bs += b[j] * s[j]
                cp += c[j] * p[j]
                cq += c[j] * q[j]
                cr += c[j] * r[j]
                cs += c[j] * s[j]
                dp += d[j] * p[j]
                dq += d[j] * q[j]
                dr += d[j] * r[j]
                ds += d[j] * s[j]
            products[y, x], products[y, x + 1], products[y, x + 2], products[y, x + 3] = ap, aq, ar, as_
            y1, y2, y3 = y + 1, y + 2, y + 3
            products[y1, x], products[y1, x + 1], products[y1, x + 2], products[y1, x + 3] = bp, bq, br, bs
            products[y2, x], products[y2, x + 1], products[y2, x + 2], products[y2, x + 3] = cp, cq, cr, cs
            products[y3, x], products[y3, x + 1], products[y3, x + 2], products[y3, x + 3] = dp, dq, dr, ds
    longest = number(0)
    for i in range(steps):
        for j in range(i, steps):
            gram[i, j] = gram[j, i] = products[i, j]
        if not gram[i, i] <= longest:  # an entry that is no number makes all rows so
            longest = gram[i, i]
    return float(longest)


def take_until_tie(gram: Array, scores: Array, tie: float, order: Array, rank: int) -> int:
    """As `greedy.take_until_tie`, with the same bits."""
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
