"""GraB: keep the gradients that an online balancing gives the sign plus."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.records import Kept
from bherd.selectors.base import Selector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bherd import method
    from bherd.parts.records import Indices


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

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.grab import balanced

        del stream
        return Kept(balanced(trace))


def grab() -> "method.Selector":
    """The selector of GraB-FedAvg, which needs no share: it measures one, alpha_i = k_i / tau_i.

    For each gradient g in turn, with mu the running mean that has seen g / tau already,

        z = g - mu;   keep g and s <- s + z  if ||s + z|| < ||s - z||,   else  s <- s - z.

    Where no gradient has the sign plus, all of them count, with alpha_i = 1. It needs O(d) memory;
    the paper finds it no faster than FedAvg.
    """
    from bherd.algorithms.grab import balanced
    from bherd.method import Selector

    def select(trace: "Tensor", stream: "np.random.Generator") -> "Indices":
        del stream
        return balanced(trace)

    return Selector("grab", select, share=None, scales_with_epochs=False)
