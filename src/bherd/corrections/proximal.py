"""A pull back to the server's model (FedProx)."""

from dataclasses import dataclass
from typing import final

from bherd.corrections.base import Correction
from bherd.parts.checks import check_not_negative
from bherd.parts.part import Tensors
from bherd.parts.records import Terms


@final
@dataclass(frozen=True)
class Proximal(Correction):
    """Every client minimizes its loss plus (mu / 2) ||w - w_start||^2: grad + mu (w - w_start).

    Li et al., "Federated Optimization in Heterogeneous Networks" (2020).

    Use it where clients drift far from each other in a round, with many steps on data that differ. It has
    no memory and sends nothing more. It slows the drift but does not remove it: clients that minimize
    exactly come to rest where sum p_i (w - w_i) = 0, w_i being their own minima with the pull, and not at
    the optimum of the mean loss; see `dynamic` and `control-variates` for that.
    """

    mu: float = 0.01
    """The strength of the pull; 0 is none."""

    def __post_init__(self) -> None:
        check_not_negative("mu", self.mu)

    def terms(self, client: Tensors, server: Tensors) -> Terms:
        del client, server
        return Terms(None, self.mu)
