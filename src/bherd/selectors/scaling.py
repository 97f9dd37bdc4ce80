"""Squares of very large or very small gradients leave the range of floats: rescale them first."""

import math

import torch
from torch import Tensor

_SAFE = {torch.float32: 1e12, torch.float64: 1e100}


def in_range(trace: Tensor) -> Tensor:
    """The trace, multiplied by a power of two if the squares of its entries could over- or underflow.

    Selection does not depend on the scale, and a power of two changes no digit.
    """
    if trace.numel() == 0:
        return trace
    largest = float(trace.abs().amax())
    safe = _SAFE.get(trace.dtype, 1e3)
    if largest == 0 or not math.isfinite(largest) or 1 / safe < largest < safe:
        return trace
    exponent = -math.frexp(largest)[1]
    half = exponent // 2
    return trace * 2.0**half * 2.0 ** (exponent - half)
