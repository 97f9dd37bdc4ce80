"""The plain server: one step along the clients' direction."""

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
class ServerSgd(ServerOptimizer):
    """w <- w - eta lr D, with the local rate eta and the direction D of the round.

    With lr = 1 and the weighted average it is FedAvg: McMahan et al., "Communication-Efficient Learning of
    Deep Networks from Decentralized Data" (2017). Other rates are the generalized FedAvg of Reddi et al.,
    "Adaptive Federated Optimization" (2021).

    Use it first: it has no memory, and one rate that is 1 unless there is a reason. Below 1 it damps the
    noise of few clients per round; above 1 it makes up for updates that partly cancel.
    """

    lr: float = 1.0
    """The server's learning rate."""

    def __post_init__(self) -> None:
        check_positive("lr", self.lr)

    def update(self, state: Tensors, params: "Tensor", step: Step) -> tuple["Tensor", Tensors]:
        return params - step.local_lr * self.lr * step.direction, state
