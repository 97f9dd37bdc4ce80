"""A server that steps by Adam (FedAdam)."""

import math
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
class ServerAdam(ServerOptimizer):
    """Adam on the pseudo-gradient G = eta D, in the units of the parameters; in the t-th round, from 1:

        m <- beta1 m + (1 - beta1) G,    v <- beta2 v + (1 - beta2) G^2,    both 0 at first,
        w <- w - lr b_t m / (sqrt(v) + tau),    b_t = sqrt(1 - beta2^(t+1)) / (1 - beta1^(t+1)).

    Reddi et al., "Adaptive Federated Optimization" (2021), FedAdam, in the form of Flower's FedAdam: the
    paper has no b_t and starts v at tau^2 or more; b_t is the correction of Kingma & Ba, "Adam: A Method
    for Stochastic Optimization" (2015), with their t one round ahead. It tends to 1.

    Use it where coordinates differ much in scale or are seldom touched (embeddings, text). Each coordinate
    moves by about lr per round whatever the clients' rate, so tune lr, from 0.01 up; tau bounds the
    smallest move that counts as one.
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
        return {"m": zeros, "v": zeros, "rounds": torch.zeros((), dtype=torch.int64, device=params.device)}

    def update(self, state: Tensors, params: "Tensor", step: Step) -> tuple["Tensor", Tensors]:
        gradient = step.local_lr * step.direction
        m = self.beta1 * state["m"] + (1 - self.beta1) * gradient
        v = self.beta2 * state["v"] + (1 - self.beta2) * gradient**2
        rounds = state["rounds"] + 1
        power = int(rounds) + 1
        lr = self.lr * math.sqrt(1 - self.beta2**power) / (1 - self.beta1**power)
        return params - lr * m / (v.sqrt() + self.tau), {"m": m, "v": v, "rounds": rounds}
