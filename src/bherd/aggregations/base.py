"""The contract of an aggregation: how the clients' updates become one direction."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.part import Part
from bherd.parts.records import Update

if TYPE_CHECKING:
    from torch import Tensor


class Aggregation(Part):
    """Combines the updates of a round. Where `step` and the share come in, `loop.server` says."""

    AXIS: ClassVar[str] = "aggregation"
    normalizes: ClassVar[bool] = False
    """Whether clients send means instead of sums into it, times the effective number of steps (FedNova)."""

    @abstractmethod
    def combine(self, updates: Sequence[Update]) -> "Tensor":
        """One direction from the updates, which come sorted by client."""
