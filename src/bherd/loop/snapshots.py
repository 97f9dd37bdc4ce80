"""Snapshots: what one client's gradients looked like in one round, small enough to keep.

A run with `snapshot_every = k` records every k-th round. For each client it keeps the gradients'
coordinates in the plane of their first two principal components, the whole herding order and the
distance that every prefix of that order leaves. The order is nested: its first k_i entries are what
herding keeps at the share alpha that gives k_i, so one snapshot answers for every alpha.

A snapshot only looks: it changes no number of the run.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.algorithms.herding import herding_order
from bherd.indices import Indices

_COLUMNS = 8192


class Snapshot(NamedTuple):
    """One client's gradients of one round, less their mean, in a plane."""

    plane: npt.NDArray[np.float32]
    """(steps, 2): coordinates along the first two principal components; the mean is the origin."""
    mean: tuple[float, float]
    """The mean gradient along the same two components: the zero gradient lies at minus this."""
    mean_norm: float
    explained: tuple[float, float]
    """The share of the gradients' variance that each of the two components carries."""
    order: Indices
    """All steps in herding order."""
    distance: npt.NDArray[np.float64]
    """||mean of the first k of the order - mean of all||, for k = 1 .. steps."""


def due(every: int, round: int) -> bool:
    """Whether a round is one of every `every`-th; 0 means never."""
    return every > 0 and round % every == 0


def take(trace: Tensor) -> Snapshot:
    """The snapshot of a trace of shape (steps, d), by its Gram matrix, without a copy of the trace."""
    steps = len(trace)
    order = herding_order(trace, steps)
    mean = trace.mean(0, dtype=torch.float64)
    gram, along = _products(trace, mean)
    values, vectors = torch.linalg.eigh(gram)
    top = torch.arange(steps - 1, max(steps - 3, -1), -1)
    scale = values[top].clamp_min(0).sqrt()
    vectors = vectors[:, top] * _signs(vectors[:, top])
    plane = torch.zeros(steps, 2, dtype=torch.float64)
    plane[:, : len(top)] = vectors * scale
    mean_along = torch.zeros(2, dtype=torch.float64)
    usable = scale > 1e-6 * (scale[0] if len(scale) else 0.0)
    mean_along[: len(top)][usable] = (vectors.T @ along)[usable] / scale[usable]
    total = float(values.clamp_min(0).sum())
    explained = torch.zeros(2, dtype=torch.float64)
    if total > 0:
        explained[: len(top)] = values[top].clamp_min(0) / total
    return Snapshot(
        plane.to(torch.float32).numpy(),
        (float(mean_along[0]), float(mean_along[1])),
        float(torch.linalg.vector_norm(mean)),
        (float(explained[0]), float(explained[1])),
        order,
        prefix_distances(trace, mean, order),
    )


def _products(trace: Tensor, mean: Tensor) -> tuple[Tensor, Tensor]:
    """Of the gradients less their mean: the Gram matrix, and the products with the mean."""
    wide = torch.promote_types(trace.dtype, torch.float32)
    gram = torch.zeros(len(trace), len(trace), dtype=torch.float64)
    along = torch.zeros(len(trace), dtype=torch.float64)
    for columns, part in zip(torch.split(trace, _COLUMNS, dim=1), torch.split(mean, _COLUMNS), strict=True):
        centred = columns.to(wide) - part.to(wide)
        gram += (centred @ centred.T).cpu().to(torch.float64)
        along += (centred @ part.to(wide)).cpu().to(torch.float64)
    return gram, along


def prefix_distances(trace: Tensor, mean: Tensor, order: Indices) -> npt.NDArray[np.float64]:
    """||mean of the first k gradients of an order - `mean`||, for every k, in double precision."""
    total = torch.zeros_like(mean)
    distances = np.empty(len(order))
    for count, step in enumerate(order.tolist(), start=1):
        total += trace[step]
        distances[count - 1] = float(torch.linalg.vector_norm(total / count - mean))
    return distances


def _signs(vectors: Tensor) -> Tensor:
    """The signs that make each component's largest entry positive, so that pictures do not flip."""
    largest = vectors.abs().argmax(0)
    return torch.where(vectors[largest, torch.arange(vectors.shape[1])] < 0, -1.0, 1.0).to(vectors.dtype)
