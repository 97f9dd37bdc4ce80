"""The contract of an order: what a client visits, and when."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.part import Part, Tensors
from bherd.parts.records import Plan

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bherd.parts.records import Indices


class Order(Part):
    """Says which samples each local step sees, on the client, and may learn from the steps' gradients."""

    AXIS: ClassVar[str] = "order"
    learns: ClassVar[bool] = False
    """Whether `observe` looks at the trace, which must then be kept."""
    draws: ClassVar[bool] = True
    """Whether `visit` draws from its stream; False: it is given None, which saves making one."""

    @abstractmethod
    def visit(
        self, state: Tensors, plan: Plan, samples: int, stream: "np.random.Generator"
    ) -> tuple["Indices | None", Tensors]:
        """The samples of all steps, one after the other, and the new memory.

        Args:
            state: the client's memory; {} in its first round.
            plan: how many steps, of which size.
            samples: how many samples the client has; they are numbered from 0.
            stream: random numbers of this client and round.

        Returns:
            plan.steps x plan.batch sample numbers, or None: first ones first, again from the start after
            plan.per_epoch steps.
        """

    def observe(self, state: Tensors, plan: Plan, trace: "Tensor") -> Tensors:
        """The memory after the round's directions, a row per step in the order of the visit."""
        del plan, trace
        return state
