"""What the learnt orders share: fixed batches, whose order is learnt from the last whole epoch."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.orders.base import Order
from bherd.parts.checks import check_count
from bherd.parts.part import Tensors
from bherd.parts.records import Plan

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bherd.parts.records import Indices


@dataclass(frozen=True)
class LearntOrder(Order):
    """Base of the learnt orders: `learn` ranks the steps of an epoch, and the next round follows.

    The batches are those of the fixed order; all epochs of a round visit them in the same order. A round
    of less than one whole epoch teaches nothing, and a change of the number of batches starts anew.
    """

    learns: ClassVar[bool] = True

    reversed: bool = False
    frozen: int = 0

    def __post_init__(self) -> None:
        check_count("frozen", self.frozen, least=0)

    def visit(
        self, state: Tensors, plan: Plan, samples: int, stream: "np.random.Generator"
    ) -> tuple["Indices | None", Tensors]:
        import numpy as np

        del samples, stream
        rows = _order(state, plan)[:, None] * plan.batch + np.arange(plan.batch)
        return np.resize(rows.ravel(), plan.steps * plan.batch), state

    def observe(self, state: Tensors, plan: Plan, trace: "Tensor") -> Tensors:
        import torch

        learnt = int(state["learnt"]) if "learnt" in state else 0
        whole = plan.steps // plan.per_epoch
        if whole == 0 or 0 < self.frozen <= learnt:
            return state
        epochs = trace[: whole * plan.per_epoch].reshape(whole, plan.per_epoch, -1)
        ranks, memory = self.learn(state, epochs)
        order = _order(state, plan)[ranks[::-1] if self.reversed else ranks]
        return {"order": torch.from_numpy(order), "learnt": torch.tensor(learnt + 1), **memory}

    @abstractmethod
    def learn(self, state: Tensors, epochs: "Tensor") -> tuple["Indices", Tensors]:
        """The steps of an epoch in their new order, and what else is to be remembered.

        Args:
            state: the client's memory; {} in its first round.
            epochs: the directions of the round's whole epochs, of shape (epochs, steps, d).
        """


def _order(state: Tensors, plan: Plan) -> "Indices":
    """The numbers of the batches, as they are visited."""
    import numpy as np

    order: Indices = np.arange(plan.per_epoch, dtype=np.int64)
    if "order" in state and len(state["order"]) == plan.per_epoch:
        order = state["order"].cpu().numpy()
    return order
