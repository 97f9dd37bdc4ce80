"""Control variates: SCAFFOLD, the client's half and the server's half."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from bherd.corrections.base import Correction
from bherd.parts.part import Tensors
from bherd.parts.records import Done, Terms

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class ControlVariates(Correction):
    """Correct the drift of the clients by their control variates c_i and the server's c.

        client:  w <- w - eta (grad - c_i + c)           for every local step
                 c_i' = c_i - c + mean of the kept directions;   sends the change c_i' - c_i
        server:  c <- c + (1/N) sum of the changes sent, over all N clients, absent ones counting 0

    Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning" (2020),
    option II.

    The selector sees the corrected gradients, the ones that moved the model. An absent client keeps
    its c_i. Use it where clients' data differ; it sends twice the bytes of FedAvg.
    """

    stateful: ClassVar[bool] = True
    reads_mean: ClassVar[bool] = True

    def server_init(self, params: "Tensor") -> Tensors:
        import torch

        return {"c": torch.zeros_like(params)}

    def client_init(self, params: "Tensor") -> Tensors:
        import torch

        return {"c": torch.zeros_like(params)}

    def terms(self, client: Tensors, server: Tensors) -> Terms:
        return Terms(server["c"] - client["c"])

    def client_end(self, client: Tensors, server: Tensors, done: Done) -> tuple[Tensors, Tensors]:
        change = done.kept_mean - server["c"]
        return {"c": client["c"] + change}, {"change": change}

    def server_end(
        self, server: Tensors, messages: Sequence[Tensors], clients: int
    ) -> tuple[Tensors, "Tensor | None"]:
        c = server["c"]
        for message in messages:
            c = c + message["change"] / clients
        return {"c": c}, None
