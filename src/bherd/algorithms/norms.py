"""How long gradients are, and how far from their mean, in double precision."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.algorithms.scaling import in_range
from bherd.indices import Indices

_TIE = {torch.float64: 1e-10}
_TIE_FLOAT32 = 1e-5

Floats = npt.NDArray[np.float64]


def squared_norms(trace: Tensor) -> Floats:
    """||g||^2 of every row, up to a common factor where squares would leave the range of floats."""
    return _squares(list(in_range(trace)))


def squared_distances(trace: Tensor) -> Floats:
    """||tau g - sum of all g||^2 of every row: tau^2 times the squared distance from the mean.

    There is no division, so that whole numbers give no rounding and a true tie is seen. All are taken less
    the first, so that of two gradients, which are always equally far, neither is nearer by rounding.
    """
    rows = in_range(trace)
    first = rows[0].to(torch.float64)
    total = torch.zeros_like(first)
    for row in rows:
        total += row - first
    return _squares([(row - first) * len(rows) - total for row in rows])


def _squares(rows: list[Tensor]) -> Floats:
    squares: Floats = torch.stack([row.to(torch.float64).square().sum() for row in rows]).cpu().numpy()
    return squares


def ascending(values: Floats, trace: Tensor) -> Indices:
    """The steps by their values; those that agree to the precision of the trace go by their index.

    Of two gradients each is as far from the mean as the other, and rounding must not choose between them.
    """
    order: Indices = values.argsort(kind="stable").astype(np.int64)
    apart = np.diff(values[order]) > _TIE.get(trace.dtype, _TIE_FLOAT32) * np.abs(values).max()
    groups = np.split(order, np.flatnonzero(apart) + 1)
    return np.concatenate([np.sort(group) for group in groups])
