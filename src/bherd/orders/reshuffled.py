"""Visit the samples in a new random order every epoch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.orders.base import Order
from bherd.parts.part import Tensors
from bherd.parts.records import Plan

if TYPE_CHECKING:
    import numpy as np

    from bherd.parts.records import Indices


@dataclass(frozen=True)
class Reshuffled(Order):
    """Every epoch visits the first (steps per epoch) x (batch) samples of a new random permutation.

    Random reshuffling, sampling without replacement: the usual habit in practice, and the reference for
    every order that learns. Mishchenko et al., "Random Reshuffling: Simple Analysis with Vast
    Improvements" (2020). The samples that a permutation leaves over wait for another epoch.
    """

    def visit(
        self, state: Tensors, plan: Plan, samples: int, stream: "np.random.Generator"
    ) -> tuple["Indices | None", Tensors]:
        import numpy as np

        epoch, total = plan.per_epoch * plan.batch, plan.steps * plan.batch
        epochs = -(-total // epoch)
        return np.concatenate([stream.permutation(samples)[:epoch] for _ in range(epochs)])[:total], state
