"""Dynamic regularization (FedDyn)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from bherd.corrections.base import Correction
from bherd.parts.checks import check_positive
from bherd.parts.part import Tensors
from bherd.parts.records import Done, Terms

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class Dynamic(Correction):
    """A pull to the server's model, and a memory h_i that learns the client's gradient at the optimum.

        client:  w <- w - eta (grad - h_i + mu (w - w_start))     for every local step
                 h_i <- h_i - mu moved_i                          sends moved_i = w_end - w_start
        server:  h <- h - (mu / N) sum of moved_i                 over all N clients, absent ones counting 0
                 w <- (w after the server's own step) - h / mu

    Acar et al., "Federated Learning Based on Dynamic Regularization" (2021), whose alpha is mu here.

    h is the mean of all h_i. At rest nobody moves, so that h_i is the client's gradient there, and the
    server's shift is zero, so that these sum to zero: the optimum of the plain mean of the clients' losses,
    whatever their shares. Use it where clients' data differ and take many steps; it wants a server of
    lr = 1. A small mu moves fast, a large one safely. It sends twice the bytes of FedAvg.
    """

    mu: float = 0.01
    """The strength of the pull, and how fast the memories learn."""
    stateful: ClassVar[bool] = True
    reads_moved: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_positive("mu", self.mu)

    def server_init(self, params: "Tensor") -> Tensors:
        import torch

        return {"h": torch.zeros_like(params)}

    def client_init(self, params: "Tensor") -> Tensors:
        import torch

        return {"h": torch.zeros_like(params)}

    def terms(self, client: Tensors, server: Tensors) -> Terms:
        del server
        return Terms(-client["h"], self.mu)

    def client_end(self, client: Tensors, server: Tensors, done: Done) -> tuple[Tensors, Tensors]:
        del server
        moved = done.moved
        return {"h": client["h"] - self.mu * moved}, {"moved": moved}

    def server_end(
        self, server: Tensors, messages: Sequence[Tensors], clients: int
    ) -> tuple[Tensors, "Tensor | None"]:
        h = server["h"]
        for message in messages:
            h = h - (self.mu / clients) * message["moved"]
        return {"h": h}, -h / self.mu
