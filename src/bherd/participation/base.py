"""The contract of a participation: who is asked."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.part import Part, Tensors
from bherd.parts.records import Report

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bherd.parts.records import Indices


class Participation(Part):
    """Chooses the clients of a round, on the server, and may learn from what they sent."""

    AXIS: ClassVar[str] = "participation"

    def init(self, params: "Tensor", clients: int) -> Tensors:
        """Its memory before the first round."""
        del params, clients
        return {}

    @abstractmethod
    def choose(
        self, state: Tensors, round: int, clients: int, count: int, stream: "np.random.Generator"
    ) -> tuple["Indices", Tensors]:
        """The clients of a round, none twice, and the new memory.

        Args:
            state: its memory.
            round: the number of the round, from 1.
            clients: how many clients there are; they are numbered from 0.
            count: how many of them to ask.
            stream: random numbers of its own.
        """

    def observe(self, state: Tensors, reports: Sequence[Report]) -> Tensors:
        """Its memory after the round's reports, which come sorted by client; absent clients have none."""
        del reports
        return state
