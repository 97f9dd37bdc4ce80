"""A server that goes further where the clients disagree (FedExP)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bherd.parts.checks import check_positive
from bherd.parts.part import Tensors
from bherd.parts.records import Step
from bherd.servers.base import ServerOptimizer

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class Extrapolation(ServerOptimizer):
    """A rate for each round from how far the clients' updates cancel, delta_i = eta D_i, delta = eta D:

        w <- w - lr e delta,    e = max(1, sum p_i ||delta_i||^2 / (2 (||delta||^2 + eps))).

    Jhunjhunwala et al., "FedExP: Speeding Up Federated Averaging via Extrapolation" (2023), with the
    clients' shares p_i where the paper counts each client once.

    Use it instead of tuning the server's rate: it never goes less far than `sgd`, and further where clients
    pull in different directions. Its last model may swing about the optimum; the paper evaluates the mean
    of the last two, which is `mean-of-last,k=2`. Choose eps of the order of ||delta||^2 or less.
    """

    lr: float = 1.0
    """A factor on top of the computed rate."""
    eps: float = 0.001
    """Keeps the rate finite where updates cancel; in squared units of the parameters."""

    def __post_init__(self) -> None:
        check_positive("lr", self.lr)
        check_positive("eps", self.eps)

    def update(self, state: Tensors, params: "Tensor", step: Step) -> tuple["Tensor", Tensors]:
        square = float(step.direction.norm()) ** 2
        apart = step.local_lr**2 * step.mean_square() / (2 * (step.local_lr**2 * square + self.eps))
        return params - step.local_lr * self.lr * max(1.0, apart) * step.direction, state
