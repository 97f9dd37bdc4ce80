"""Herding: keep the gradients whose running sum stays closest to the mean (BHerd)."""

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
class Herding(ShareSelector):
    """Keeps the first k = max(1, floor(α τ + 1/2)) steps of the greedy herding order (BHerd).

    With z_t = g_t - mean of all g, and s the sum of the z already taken,

        next = argmin over the rest of ‖s + z_t‖,

    ties going to the lowest index. Luo et al., "Accelerating Federated Learning by Selecting Beneficial
    Herd of Local Gradients" (2024); the greedy order goes back to Welling, "Herding Dynamical Weights to
    Learn" (2009). Use it where the paper does, and put `random` beside it to see what the choice itself
    is worth.
    """

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.herding import herding_order

        del stream
        return Kept(herding_order(trace, self.count(len(trace))))


def herding(alpha: float = 0.5) -> "method.Selector":
    """The selector of BHerd: the first k = max(1, floor(alpha tau + 1/2)) of the greedy order.

    With z the gradients less their mean and s the sum of those already taken,

        next = argmin over the rest of ||s + z||,

    ties going to the lowest index. Use it where the paper does; put `random_share(alpha)` beside it
    to see what the choice itself is worth.
    """
    from bherd.algorithms.herding import herding_order
    from bherd.algorithms.share import kept_count
    from bherd.method import Selector
    from bherd.parts.checks import check_share

    check_share(alpha)

    def select(trace: "Tensor", stream: "np.random.Generator") -> "Indices":
        del stream
        return herding_order(trace, kept_count(alpha, len(trace)))

    return Selector("herding", select, alpha, scales_with_epochs=True, count=partial(kept_count, alpha))
