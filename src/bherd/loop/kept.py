"""What a selector kept: whether its answer is one, and the kept directions together."""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.errors import InputError
from bherd.parts.records import Kept
from bherd.selectors.base import Selector

_COLUMNS = 4096


class KeptSum(NamedTuple):
    """The kept directions together, and how well they stand for all."""

    sum: Tensor
    distance: float
    """||mean of the kept directions - mean of all||, the paper's figure 4d."""
    random_distance: float
    """The same, root mean square, over every choice of as many directions: what chance gives."""


def sum_rows(trace: Tensor) -> Tensor:
    """The sum of all rows, one after the other, as an engine without a trace takes it: the same bits."""
    total = torch.zeros_like(trace[0])
    for row in trace:
        total += row
    return total


def checked(selector: Selector, chosen: object, steps: int) -> Kept:
    """A selector's answer, if it is one: at least one step, none twice, each with a usable weight.

    Args:
        selector: who answered.
        chosen: what it gave back.
        steps: how many steps there were.

    Raises:
        InputError: it is none; the message says why.
    """
    if not isinstance(chosen, Kept):
        raise InputError(f"selector {selector} gave a {type(chosen).__name__}: must be Kept(indices).")
    indices = np.asarray(chosen.indices)
    wrong = _wrong_indices(indices, steps)
    if wrong:
        raise InputError(f"selector {selector} gave {wrong}.")
    if chosen.weights is None and not selector.weighted:
        return Kept(indices.astype(np.int64, copy=False))
    if chosen.weights is None or not selector.weighted:
        said = "gave no weights" if selector.weighted else "gave weights without saying weighted = True"
        raise InputError(f"selector {selector} {said}: must be as its class says.")
    weights = np.asarray(chosen.weights, dtype=np.float64)
    usable = weights.shape == indices.shape and np.isfinite(weights).all() and weights.min() >= 0
    if not usable or weights.sum() <= 0:
        raise InputError(
            f"selector {selector} gave weights {weights!r}: must be one finite number of zero or more per "
            "kept step, not all zero."
        )
    return Kept(indices.astype(np.int64, copy=False), weights)


def _wrong_indices(indices: npt.NDArray[Any], steps: int) -> str:
    if indices.dtype.kind not in "iu":
        return f"indices of type {indices.dtype}: must be whole numbers; for a mask use np.flatnonzero(mask)"
    if indices.ndim != 1 or len(indices) == 0:
        return f"indices of shape {indices.shape}: must be a list of at least one step"
    listed = indices.tolist()
    if min(listed) < 0 or max(listed) >= steps:
        return f"indices from {min(listed)} to {max(listed)}: must be steps from 0 to {steps - 1}"
    if len(set(listed)) != len(listed):
        return "a step twice: must be each at most once; give it a weight instead"
    return ""


def random_distance(spread: float, steps: int, kept: int) -> float:
    """The root mean square of ||mean of the kept - mean of all|| over every choice of `kept` gradients.

    A mean of k out of τ, drawn without replacement, has the variance (1/k - 1/τ) S².

    Args:
        spread: the sum of the squared distances of all gradients from their mean, (τ - 1) S².
        steps: τ, the number of gradients.
        kept: k, the number of them in a choice.
    """
    if kept >= steps:
        return 0.0
    return math.sqrt((1 / kept - 1 / steps) * max(0.0, spread) / (steps - 1))


def sum_kept(trace: Tensor, kept: Kept) -> KeptSum:
    """The sum of the kept directions and how far their mean is from the mean of all."""
    steps, count = len(trace), len(kept.indices)
    weights = np.zeros((2, steps))
    weights[0, kept.indices] = 1.0 if kept.weights is None else kept.weights
    counted = count if kept.weights is None else float(kept.weights.sum())
    weights[1] = weights[0] / counted - 1.0 / steps
    wide = torch.promote_types(trace.dtype, torch.float32)
    factors = torch.from_numpy(weights).to(device=trace.device, dtype=wide)
    if wide == trace.dtype:
        total, difference = factors @ trace
        norms = torch.linalg.vector_norm(trace, dim=1)
        squares = float(norms @ norms)
    else:
        blocks = [block.to(wide) for block in torch.split(trace, _COLUMNS, dim=1)]
        total, difference = torch.cat([factors @ block for block in blocks], dim=1)
        squares = sum(float(torch.linalg.vector_norm(block)) ** 2 for block in blocks)
    mean = total / counted - difference
    chance = random_distance(squares - steps * float(mean @ mean), steps, count)
    return KeptSum(total, float(torch.linalg.vector_norm(difference)), chance)
