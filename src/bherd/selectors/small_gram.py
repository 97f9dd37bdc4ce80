"""The Gram matrix of a small trace, compiled: half the multiplications, none of the calls."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def small_gram(trace: Array, gram: Array) -> float:
    """Write the inner products of the centred rows into `gram`; return the largest square of a row.

    The matrix is symmetric, so only tiles of 4 x 4 on and above the diagonal are computed; the 16 sums
    of a tile stay in registers.
    """
    steps, width = trace.shape
    number = trace.dtype.type
    tall = -(-steps // 4) * 4
    centred = np.empty((tall, width), trace.dtype)
    centred[steps:] = 0
    mean = np.zeros(width, trace.dtype)
    for i in range(steps):
        for j in range(width):
            mean[j] += trace[i, j]
    mean /= number(steps)
    rest = np.zeros(width, trace.dtype)  # what rounding leaves of a mean that is large beside the rows
    for i in range(steps):
        for j in range(width):
            centred[i, j] = trace[i, j] - mean[j]
            rest[j] += centred[i, j]
    rest /= number(steps)
    for i in range(steps):
        for j in range(width):
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
    longest = 0.0
    for i in range(steps):
        for j in range(i, steps):
            gram[i, j] = products[i, j]
            gram[j, i] = products[i, j]
        if not gram[i, i] <= longest:  # an entry that is no number makes all rows so
            longest = gram[i, i]
    return longest
