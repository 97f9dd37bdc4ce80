"""The share alpha: what is allowed, and how many gradients it keeps."""

import functools
import math
from fractions import Fraction

from bherd.errors import InputError
from bherd.exact import decimal


def check_share(alpha: float) -> None:
    """Refuse a share outside (0, 1]."""
    if not (math.isfinite(alpha) and 0 < alpha <= 1):
        raise InputError(
            f"alpha is {alpha!r}, but the share of gradients to keep must lie in (0, 1]: "
            "0.5 keeps half of them, 1 keeps all"
        )


@functools.lru_cache(maxsize=1024)
def kept_count(alpha: float, steps: int) -> int:
    """k = max(1, floor(alpha tau + 1/2)), in exact arithmetic on alpha as it is written.

    >>> kept_count(0.5, 5), kept_count(0.29, 50), kept_count(0.01, 3)
    (3, 15, 1)
    """
    check_share(alpha)
    return max(1, math.floor(decimal(alpha) * steps + Fraction(1, 2)))
