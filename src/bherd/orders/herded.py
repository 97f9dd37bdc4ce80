"""The herding order of the last epoch as the order of the next."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.orders.learnt import LearntOrder
from bherd.parts.part import Tensors

if TYPE_CHECKING:
    from torch import Tensor

    from bherd.parts.records import Indices


@dataclass(frozen=True)
class HerdedOrder(LearntOrder):
    """Visits the batches in the greedy herding order of the last whole epoch of the client's last round.

    With z the epoch's directions less their mean, and s the sum of those already placed,

        next = argmin over the rest of ‖s + z‖,

    ties going to the step that came first. Lu et al., "A General Analysis of Example-Selection for
    Stochastic Gradient Descent" (2022). It needs the whole epoch at once, τ d of memory while it learns,
    and remembers only the order and how often it has learnt.

    Use it as GraB's costly relative. Two controls: `reversed` plays the learnt order backwards (in our
    experiments the better way), `frozen=n` stops learning after n rounds (0: never).
    """

    def learn(self, state: Tensors, epochs: "Tensor") -> tuple["Indices", Tensors]:
        from bherd.algorithms.herding import herding_order

        del state
        return herding_order(epochs[-1], epochs.shape[1]), {}
