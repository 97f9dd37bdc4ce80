"""The Gram matrix of a small trace, compiled: half the multiplications, none of the calls."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def small_gram(trace: Array, gram: Array) -> Any:
    """Write the inner products of the centred rows into `gram`; return the largest entry of these rows.

    The matrix is symmetric, so only tiles of 4 x 4 on and above the diagonal are computed; the 16 sums
    of a tile stay in registers.
    """
    steps, width = trace.shape
    number = trace.dtype.type
    centred = np.zeros((-(-steps // 4) * 4, width), trace.dtype)
    largest = number(0)
    for again in range(2):  # the second time for what rounding left of a large mean
        mean = np.zeros(width, trace.dtype)
        for i in range(steps):
            for j in range(width):
                mean[j] += centred[i, j] if again else trace[i, j]
        mean /= number(steps)
        for i in range(steps):
            for j in range(width):
                centred[i, j] = (centred[i, j] if again else trace[i, j]) - mean[j]
                largest = max(largest, abs(centred[i, j])) if again else largest
    for top in range(0, steps, 4):
        a, b, c, d = centred[top], centred[top + 1], centred[top + 2], centred[top + 3]
        for left in range(top, steps, 4):
            p, q, r, s = centred[left], centred[left + 1], centred[left + 2], centred[left + 3]
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
            tile = ((ap, aq, ar, as_), (bp, bq, br, bs), (cp, cq, cr, cs), (dp, dq, dr, ds))
            for i in range(min(4, steps - top)):
                for j in range(min(4, steps - left)):
                    gram[top + i, left + j] = tile[i][j]
                    gram[left + j, top + i] = tile[i][j]
    return largest
