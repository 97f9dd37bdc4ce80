"""GraB: keep the gradients that an online balancing gives the sign plus.

Lu et al., "GraB: Finding Provably Better Data Permutations than Random Reshuffling" (2022), in the
form that the BHerd paper uses as its baseline GraB-FedAvg.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.algorithms.scaling import in_range
from bherd.algorithms.trace import Indices, as_trace


def grab_indices(gradients: npt.ArrayLike | Tensor) -> Indices:
    """Which of the gradients, an array of shape (steps, d), GraB keeps: ascending indices.

    >>> grab_indices([[1.0], [1.0], [1.0], [1.0]])
    array([1, 2])
    """
    return balanced(as_trace(gradients))


def balanced(trace: Tensor) -> Indices:
    """The indices with the sign plus; all indices where there is none.

    ||s + z|| < ||s - z|| exactly when <s, z> < 0, so one inner product a step decides. It is taken in
    double precision and of tau z = tau g - (sum of the gradients so far): no division, so that whole
    numbers give no rounding and a true tie is seen.
    """
    rows = in_range(trace)
    wide = torch.promote_types(rows.dtype, torch.float32)
    steps, width = rows.shape
    seen, total, deviation = np.zeros(width), np.zeros(width), np.empty(width)
    views = torch.from_numpy(total), torch.from_numpy(deviation)
    plus: list[int] = []
    for step, row in enumerate(rows):
        gradient = row.to(device="cpu", dtype=wide).numpy()
        seen += gradient
        np.multiply(gradient, np.float64(steps), out=deviation)
        deviation -= seen
        if torch.dot(*views) < 0:
            total += deviation
            plus.append(step)
        else:
            total -= deviation
    return np.array(plus or range(steps), dtype=np.int64)


def balanced_order(trace: Tensor, mean: Tensor | None = None) -> Indices:
    """GraB's next order: steps with the sign plus from the front, with the sign minus from the back.

    Args:
        trace: the gradients of an epoch in the order of the visit, of shape (steps, d).
        mean: what is subtracted from each, the mean of the epoch before; None: nothing.

    >>> balanced_order(torch.tensor([[1.0], [2.0], [3.0], [-4.0]]))
    array([1, 3, 2, 0])
    """
    centre = torch.zeros(trace.shape[1], dtype=torch.float64, device=trace.device)
    if mean is not None:
        centre += mean.to(centre)
    total = torch.zeros_like(centre)
    front: list[int] = []
    back: list[int] = []
    for step, row in enumerate(trace):
        deviation = row.to(torch.float64) - centre
        if torch.dot(total, deviation) < 0:
            total += deviation
            front.append(step)
        else:
            total -= deviation
            back.append(step)
    return np.array([*front, *reversed(back)], dtype=np.int64)
