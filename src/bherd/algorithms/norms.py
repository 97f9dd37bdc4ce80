"""How long gradients are, and how far from their mean, in double precision."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.algorithms.scaling import in_range

Floats = npt.NDArray[np.float64]


def squared_norms(trace: Tensor) -> Floats:
    """||g||^2 of every row, up to a common factor where squares would leave the range of floats."""
    return _squares(list(in_range(trace)))


def squared_distances(trace: Tensor) -> Floats:
    """||tau g - sum of all g||^2 of every row: tau^2 times the squared distance from the mean.

    There is no division, so that whole numbers give no rounding and a true tie is seen.
    """
    rows = in_range(trace)
    total = torch.zeros_like(rows[0], dtype=torch.float64)
    for row in rows:
        total += row
    return _squares([row.to(torch.float64) * len(rows) - total for row in rows])


def _squares(rows: list[Tensor]) -> Floats:
    squares: Floats = torch.stack([row.to(torch.float64).square().sum() for row in rows]).cpu().numpy()
    return squares
