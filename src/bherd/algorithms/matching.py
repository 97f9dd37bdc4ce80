"""Orthogonal matching pursuit with weights that are not negative, on inner products alone."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.algorithms.scaling import in_range
from bherd.algorithms.trace import Indices

Floats = npt.NDArray[np.float64]

_NUMBERS = 2**20
"""Numbers in a block of columns."""
_ZERO = 1e-10
"""Beside the square of the longest gradient or sum, a smaller product is rounding."""


def matching_pursuit(trace: Tensor, count: int) -> tuple[Indices, Floats]:
    """At most `count` rows of a trace, in order of choice, and their weights: see `MatchingPursuit`.

    All that is asked of the gradients are their inner products, so that they are first replaced by vectors
    of length tau with the same products: the columns of a square root of the Gram matrix.
    """
    vectors = _isometric(trace)
    target = vectors.sum(1)
    zero = _ZERO * max(float(np.square(vectors).sum(0).max()), float(target @ target))
    chosen: list[int] = []
    weights: Floats = np.zeros(0)
    if target @ target > zero:
        residual = target
        for _ in range(count):
            products = residual @ vectors
            products[chosen] = -np.inf
            largest = products.max()
            if largest <= zero:
                break
            chosen.append(int(np.flatnonzero(products >= largest - zero)[0]))
            weights = _fit(vectors[:, chosen], target)
            residual = target - vectors[:, chosen] @ weights
    positive = weights > 0
    if not positive.any():
        return np.arange(len(trace), dtype=np.int64), np.ones(len(trace))
    return np.array(chosen, dtype=np.int64)[positive], weights[positive]


def _fit(vectors: Floats, target: Floats) -> Floats:
    """The weights, none negative, with which the columns come closest to the target."""
    from scipy.optimize import nnls

    weights: Floats = nnls(vectors, target)[0]
    return weights


def _isometric(trace: Tensor) -> Floats:
    """A column of length tau for every row, with the same inner products up to a common factor."""
    rows = in_range(trace)
    gram = torch.zeros((len(rows), len(rows)), dtype=torch.float64, device=rows.device)
    for block in torch.split(rows, max(1024, _NUMBERS // len(rows)), dim=1):
        wide = block.to(torch.float64)
        gram += wide @ wide.T
    values, basis = np.linalg.eigh(gram.cpu().numpy())
    root: Floats = np.sqrt(np.maximum(values, 0.0))[:, None] * basis.T
    return root
