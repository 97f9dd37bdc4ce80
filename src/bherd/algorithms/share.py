"""The share alpha: how many gradients it keeps."""

import functools
import math
from fractions import Fraction

from bherd.exact import decimal
from bherd.parts.checks import check_share


@functools.lru_cache(maxsize=1024)
def kept_count(alpha: float, steps: int) -> int:
    """k = max(1, floor(alpha tau + 1/2)), in exact arithmetic on alpha as it is written.

    >>> kept_count(0.5, 5), kept_count(0.29, 50), kept_count(0.01, 3)
    (3, 15, 1)
    """
    check_share(alpha)
    return max(1, math.floor(decimal(alpha) * steps + Fraction(1, 2)))
