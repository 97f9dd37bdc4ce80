"""Gradients that a user hands over, checked at the border."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.errors import InputError

Indices = npt.NDArray[np.int64]
"""Numbers of steps, in an order that means something."""


def as_trace(gradients: npt.ArrayLike | Tensor) -> Tensor:
    """A user's gradients as a float tensor of shape (steps, d), or an error that says what is wrong."""
    trace = gradients.detach() if isinstance(gradients, Tensor) else torch.from_numpy(np.array(gradients))
    if trace.ndim != 2 or len(trace) == 0:
        raise InputError(
            f"gradients have shape {tuple(trace.shape)}, but (steps, d) with at least one step "
            "is expected: one row a local step"
        )
    if trace.dtype not in (torch.float32, torch.float64):
        trace = trace.to(torch.float64 if not trace.is_floating_point() else torch.float32)
    if not bool(torch.isfinite(trace).all()):
        raise InputError("gradients contain NaN or infinity: the training has diverged")
    return trace
