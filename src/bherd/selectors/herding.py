"""Herding: keep the gradients whose running sum stays closest to the mean (BHerd)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.records import Kept
from bherd.selectors.base import ShareSelector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


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

    draws: ClassVar[bool] = False

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.herding import herding_order

        del stream
        return Kept(herding_order(trace, self.count(len(trace))))
