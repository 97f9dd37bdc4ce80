"""A server with momentum (FedAvgM)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bherd.parts.checks import check_fraction, check_positive
from bherd.parts.part import Tensors
from bherd.parts.records import Step
from bherd.servers.base import ServerOptimizer

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class ServerMomentum(ServerOptimizer):
    """Momentum over the rounds, with the pseudo-gradient eta D in the units of the parameters:

        v <- beta v + eta D,    w <- w - lr v,    v = 0 at first.

    Hsu et al., "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
    Classification" (2019).

    Use it where the directions of successive rounds disagree: few clients per round, or clients whose data
    differ. In the long run its steps are 1 / (1 - beta) as long as without, so lr = 1 - beta keeps their
    length.
    """

    lr: float = 1.0
    """The server's learning rate."""
    beta: float = 0.9
    """How much of the last round's step goes on."""

    def __post_init__(self) -> None:
        check_positive("lr", self.lr)
        check_fraction("beta", self.beta)

    def init(self, params: "Tensor") -> Tensors:
        import torch

        return {"v": torch.zeros_like(params)}

    def update(self, state: Tensors, params: "Tensor", step: Step) -> tuple["Tensor", Tensors]:
        v = self.beta * state["v"] + step.local_lr * step.direction
        return params - self.lr * v, {"v": v}
