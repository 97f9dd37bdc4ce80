"""A server that steps by Yogi (FedYogi)."""

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
class ServerYogi(ServerOptimizer):
    """Yogi on the pseudo-gradient G = eta D, in the units of the parameters:

        m <- beta1 m + (1 - beta1) G,    v <- v - (1 - beta2) G^2 sign(v - G^2),    both 0 at first,
        w <- w - lr m / (sqrt(v) + tau).

    Reddi et al., "Adaptive Federated Optimization" (2021), FedYogi, after Zaheer et al., "Adaptive Methods
    for Nonconvex Optimization" (2018). As in Flower's FedYogi v starts at 0, where the paper has tau^2 or
    more.

    Use it as `adam`, where rounds with little to say follow rounds with much: v falls by no more than its
    new entries, so that the steps do not suddenly grow.
    """

    proportional: ClassVar[bool] = False

    lr: float = 0.1
    """The server's learning rate: about the move of each coordinate per round."""
    beta1: float = 0.9
    """The memory of the mean."""
    beta2: float = 0.99
    """The memory of the mean square."""
    tau: float = 0.001
    """How adaptive it is: moves much smaller than tau are not scaled up."""

    def __post_init__(self) -> None:
        check_positive("lr", self.lr)
        check_fraction("beta1", self.beta1)
        check_fraction("beta2", self.beta2)
        check_positive("tau", self.tau)

    def init(self, params: "Tensor") -> Tensors:
        import torch

        zeros = torch.zeros_like(params)
        return {"m": zeros, "v": zeros}

    def update(self, state: Tensors, params: "Tensor", step: Step) -> tuple["Tensor", Tensors]:
        gradient = step.local_lr * step.direction
        square = gradient**2
        m = self.beta1 * state["m"] + (1 - self.beta1) * gradient
        v = state["v"] - (1 - self.beta2) * square * (state["v"] - square).sign()
        return params - self.lr * m / (v.sqrt() + self.tau), {"m": m, "v": v}
