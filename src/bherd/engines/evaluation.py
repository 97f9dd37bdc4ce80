"""Evaluation of a whole split: outputs a thousand samples at a time, then one loss of all of them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from bherd.errors import InputError

AT_ONCE = 1000
"""Samples in one pass of an evaluation, whatever the engine."""


def starts(samples: int) -> range:
    """The first sample of each pass."""
    return range(0, samples, AT_ONCE)


def joined(parts: Sequence[Any], samples: int) -> Any:
    """The outputs of all samples, from those of each pass: tensors, or tuples, lists and dicts of them.

    Raises `InputError` where they do not have one row per sample.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, Tensor):
        for start, part in zip(starts(samples), parts, strict=True):
            expected = min(AT_ONCE, samples - start)
            if part.ndim == 0 or len(part) != expected:
                raise InputError(
                    f"the model's outputs for {expected} samples have shape {tuple(part.shape)}: one row per "
                    "sample is expected. Let the model return the samples in the first dimension."
                )
        return torch.cat(list(parts))
    if isinstance(first, dict):
        return {key: joined([part[key] for part in parts], samples) for key in first}
    if isinstance(first, tuple | list):
        columns = [joined(column, samples) for column in zip(*parts, strict=True)]
        return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
    if first is None:
        return None
    raise InputError(
        f"the model returned {type(first).__name__}: a tensor, or a tuple, list or dict of tensors "
        "is expected."
    )
