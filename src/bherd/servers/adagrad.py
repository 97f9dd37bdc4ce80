"""A server that steps by Adagrad (FedAdagrad)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from bherd.parts.checks import check_fraction, check_positive
from bherd.parts.part import Tensors
from bherd.parts.records import Step
from bherd.servers.base import ServerOptimizer

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class ServerAdagrad(ServerOptimizer):
    """Adagrad on the pseudo-gradient G = eta D, in the units of the parameters:

        m <- beta1 m + (1 - beta1) G,    v <- v + G^2,    both 0 at first,
        w <- w - lr m / (sqrt(v) + tau).

    Reddi et al., "Adaptive Federated Optimization" (2021), FedAdagrad, after Duchi et al., "Adaptive
    Subgradient Methods for Online Learning and Stochastic Optimization" (2011). beta1 = 0 is the choice of
    the paper's experiments and of Flower's FedAdagrad; as there v starts at 0, where the paper's algorithm
    has tau^2 or more.

    Use it where few coordinates are touched per round and no rate is to be scheduled: its steps shrink by
    themselves, as one over the root of the number of rounds.
    """

    proportional: ClassVar[bool] = False

    lr: float = 0.1
    """The server's learning rate: about the first move of each coordinate."""
    beta1: float = 0.0
    """The memory of the mean."""
    tau: float = 0.001
    """How adaptive it is: moves much smaller than tau are not scaled up."""

    def __post_init__(self) -> None:
        check_positive("lr", self.lr)
        check_fraction("beta1", self.beta1)
        check_positive("tau", self.tau)

    def init(self, params: "Tensor") -> Tensors:
        import torch

        zeros = torch.zeros_like(params)
        return {"m": zeros, "v": zeros}

    def update(self, state: Tensors, params: "Tensor", step: Step) -> tuple["Tensor", Tensors]:
        gradient = step.local_lr * step.direction
        m = self.beta1 * state["m"] + (1 - self.beta1) * gradient
        v = state["v"] + gradient**2
        return params - self.lr * m / (v.sqrt() + self.tau), {"m": m, "v": v}
