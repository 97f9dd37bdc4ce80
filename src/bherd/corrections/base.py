"""The contract of a correction: what is done to every local gradient before it moves the model."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.part import Part, Tensors
from bherd.parts.records import Done, Terms

if TYPE_CHECKING:
    from torch import Tensor


class Correction(Part):
    """Changes every local gradient by g + offset + pull (w - w_start), and may keep memory to do so.

    It has memory on the server and on each client, and its clients may send it a message beside the update.
    """

    AXIS: ClassVar[str] = "correction"
    stateful: ClassVar[bool] = False
    """Whether it has any memory or message."""
    reads_mean: ClassVar[bool] = False
    """Whether it takes the mean of the kept directions for a mean gradient."""
    reads_moved: ClassVar[bool] = False
    """Whether it needs to know how far the client's model moved."""

    def server_init(self, params: "Tensor") -> Tensors:
        """The server's memory before the first round."""
        del params
        return {}

    def client_init(self, params: "Tensor") -> Tensors:
        """A client's memory before its first round."""
        del params
        return {}

    @abstractmethod
    def terms(self, client: Tensors, server: Tensors) -> Terms:
        """What is added to every gradient of this client's round."""

    def client_end(self, client: Tensors, server: Tensors, done: Done) -> tuple[Tensors, Tensors]:
        """The client's new memory, and its message to the server."""
        del server, done
        return client, {}

    def server_end(
        self, server: Tensors, messages: Sequence[Tensors], clients: int
    ) -> tuple[Tensors, "Tensor | None"]:
        """The server's new memory, and what is added to the parameters after the server's step.

        Args:
            server: its memory.
            messages: those of the round's clients, sorted by client.
            clients: the number of all clients, present or not.
        """
        del messages, clients
        return server, None
