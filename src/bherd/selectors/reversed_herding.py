"""Reversed herding: keep what herding ranks last. A control, not a method to use."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.records import Kept
from bherd.selectors.base import ShareSelector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class ReversedHerding(ShareSelector):
    """Keeps the last k = max(1, floor(α τ + 1/2)) steps of the whole greedy order, the very last first.

    If the herd is beneficial because it lies close to the mean gradient, the share that herding would
    throw away first ought to do visibly worse at the same step length. This control is that share. The
    server treats it exactly as it treats herding: same nominal α, same factor E. It needs the order of
    all τ steps and so takes longer than herding does.
    """

    draws: ClassVar[bool] = False

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.herding import herding_order

        del stream
        steps = len(trace)
        return Kept(herding_order(trace, steps)[::-1][: self.count(steps)].copy())
