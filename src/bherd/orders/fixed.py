"""Visit the samples in the order in which the client has them, every epoch."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.orders.base import Order
from bherd.parts.part import Tensors
from bherd.parts.records import Plan

if TYPE_CHECKING:
    import numpy as np

    from bherd.parts.records import Indices


@dataclass(frozen=True)
class FixedOrder(Order):
    """Step t sees batch t mod (steps per epoch): first samples first, again from the start after an epoch.

    What the BHerd paper does. Engines need no list of samples for it. Beside `reshuffled` it is the worse
    habit once the learning rate falls; use it to reproduce, or as the start that learnt orders have.
    """

    draws: ClassVar[bool] = False

    def visit(
        self, state: Tensors, plan: Plan, samples: int, stream: "np.random.Generator"
    ) -> tuple["Indices | None", Tensors]:
        del plan, samples, stream
        return None, state
