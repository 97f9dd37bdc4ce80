"""Ask always the same clients."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.participation.base import Participation
from bherd.parts.checks import check, check_clients
from bherd.parts.part import Tensors

if TYPE_CHECKING:
    import numpy as np

    from bherd.parts.records import Indices


@dataclass(frozen=True)
class ListedClients(Participation):
    """Asks the listed clients in every round, and nobody else: the list wins over the count.

    Use it to leave clients out, or to train on one alone.
    """

    clients: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        check_clients(self.clients)

    def choose(
        self, state: Tensors, round: int, clients: int, count: int, stream: "np.random.Generator"
    ) -> tuple["Indices", Tensors]:
        import numpy as np

        del round, count, stream
        known = max(self.clients) < clients
        check(known, "clients", self.clients, f"there are clients 0 to {clients - 1} only", "0")
        return np.array(sorted(self.clients), dtype=np.int64), state
