"""GraB: an order in which the directions balance each other, learnt with one vector of memory."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.orders.learnt import LearntOrder
from bherd.parts.part import Tensors

if TYPE_CHECKING:
    from torch import Tensor

    from bherd.parts.records import Indices


@dataclass(frozen=True)
class GrabOrder(LearntOrder):
    """Visits the batches in GraB's order, learnt from the last whole epoch of the client's last round.

    With m the mean of the epoch before that one (0 at first) and g its directions, step by step,

        c = g - m;   forward and s <- s + c  if ‖s + c‖ < ‖s - c‖,   else backward and s <- s - c:

    the next order begins with the forward ones and ends with the backward ones, these from the last to the
    first. Lu et al., "GraB: Finding Provably Better Data Permutations than Random Reshuffling" (2022).
    The memory is the order, m, and how often it has learnt.

    Use it with small batches at a constant rate, and no drift of the clients (IID data, control variates);
    a falling rate with `reshuffled` does much of the same. Two controls: `reversed` plays the learnt order
    backwards, `frozen=n` stops learning after n rounds (0: never).
    """

    def learn(self, state: Tensors, epochs: "Tensor") -> tuple["Indices", Tensors]:
        import torch

        from bherd.algorithms.grab import balanced_order

        wide = torch.promote_types(epochs.dtype, torch.float32)
        means = epochs[-2:].mean(1, dtype=wide)
        before = means[0] if len(means) == 2 else state.get("mean")
        return balanced_order(epochs[-1], before), {"mean": means[-1].clone()}
