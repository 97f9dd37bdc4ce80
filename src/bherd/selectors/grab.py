"""GraB: keep the gradients that an online balancing gives the sign plus."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bherd import method
    from bherd.parts.records import Indices


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
