"""Reversed herding: keep what herding ranks last. A control, not a method to use."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bherd.parts.records import Kept
from bherd.selectors.base import ShareSelector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bherd import method
    from bherd.parts.records import Indices


@dataclass(frozen=True)
class ReversedHerding(ShareSelector):
    """Keeps the last k = max(1, floor(α τ + 1/2)) steps of the whole greedy order, the very last first.

    If the herd is beneficial because it lies close to the mean gradient, the share that herding would
    throw away first ought to do visibly worse at the same step length. This control is that share. The
    server treats it exactly as it treats herding: same nominal α, same factor E. It needs the order of
    all τ steps and so takes longer than herding does.
    """

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.herding import herding_order

        del stream
        steps = len(trace)
        return Kept(herding_order(trace, steps)[::-1][: self.count(steps)].copy())


def reversed_herding(alpha: float = 0.5) -> "method.Selector":
    """The last k = max(1, floor(alpha tau + 1/2)) of the whole greedy order, the very last first.

    The server treats it exactly as it treats herding: same nominal alpha, same factor E. It needs
    the order of all tau gradients and so takes longer than herding does.
    """
    from bherd.algorithms.herding import herding_order
    from bherd.algorithms.share import kept_count
    from bherd.method import Selector
    from bherd.parts.checks import check_share

    check_share(alpha)

    def select(trace: "Tensor", stream: "np.random.Generator") -> "Indices":
        del stream
        steps = len(trace)
        order = herding_order(trace, steps)
        return order[::-1][: kept_count(alpha, steps)].copy()

    return Selector("reversed", select, alpha, scales_with_epochs=True, count=partial(kept_count, alpha))
