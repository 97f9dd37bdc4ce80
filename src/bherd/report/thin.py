"""What is too much for one page is thinned evenly, and the page says so."""

import base64
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from bherd.indices import Indices

CURVE_POINTS = 120_000
"""Evaluated rounds in the whole report."""
HERD_BYTES = 3_000_000
"""Cells of all heat maps together, before base64."""
SNAPSHOT_STEPS = 90_000
"""Pictured gradients in the whole report."""
SHOWN_CLIENTS = 20
"""Clients of a run whose selection is embedded."""
FEDERATION_CLIENTS = 200
"""Clients whose holdings are embedded."""
REPLAYED_ROUNDS = 60
"""Rounds whose shuffled sample orders are drawn again to count labels."""


def spread(length: int, count: int) -> Indices:
    """At most `count` of the positions 0 .. length - 1, evenly spread, with both ends."""
    if length <= count:
        return np.arange(length, dtype=np.int64)
    positions: Indices = np.unique(np.linspace(0, length - 1, max(2, count)).round().astype(np.int64))
    return positions


def share_of(total: int, parts: int) -> int:
    """An equal part of a budget."""
    return max(2, total // max(1, parts))


def encode(array: npt.NDArray[Any]) -> str:
    """An array's bytes, little-endian, as base64."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(np.ascontiguousarray(little).tobytes()).decode("ascii")


def short(value: float | None) -> float | None:
    """Six significant digits, which is more than a screen can show; None for what is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.6g}")
