"""GraB: keep the gradients that an online balancing gives the sign plus."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.records import Kept
from bherd.selectors.base import Selector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class Grab(Selector):
    """Keeps the steps with the sign plus; needs no share and measures one, α_i = k_i / τ_i.

    For each gradient g in turn, with μ the running mean that has seen g / τ already,

        z = g - μ;   keep g and s <- s + z  if ‖s + z‖ < ‖s - z‖,   else  s <- s - z.

    Where no gradient has the sign plus, all of them count. The balancing is from Lu et al., "GraB: Finding
    Provably Better Data Permutations than Random Reshuffling" (2022); as a selection it is the baseline
    GraB-FedAvg of the BHerd paper, which finds it no faster than FedAvg. It needs O(d) memory.
    """

    scales_with_epochs: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.grab import balanced

        del stream
        return Kept(balanced(trace))
