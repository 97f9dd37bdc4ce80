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
    if not math.isfinite(largest) or squares_in_range(largest, trace.dtype):
        return trace
    exponent = -math.frexp(largest)[1]
    half = exponent // 2
    return trace * 2.0**half * 2.0 ** (exponent - half)


def squares_in_range(largest: float, dtype: torch.dtype) -> bool:
    """Whether sums of squares of numbers up to `largest` neither over- nor underflow."""
    safe = _SAFE.get(dtype, 1e3)
    return largest == 0 or 1 / safe < largest < safe
