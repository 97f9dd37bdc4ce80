"""The contract of a server optimizer: how the server moves."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.part import Part, Tensors
from bherd.parts.records import Step

if TYPE_CHECKING:
    from torch import Tensor


class ServerOptimizer(Part):
    """Moves the server's parameters along the direction of a round."""

    AXIS: ClassVar[str] = "server"
    proportional: ClassVar[bool] = True
    """Whether a direction of twice the length moves the server just as far as twice the rate does."""

    def init(self, params: "Tensor") -> Tensors:
        """Its memory before the first round."""
        del params
        return {}

    @abstractmethod
    def update(self, state: Tensors, params: "Tensor", step: Step) -> tuple["Tensor", Tensors]:
        """The new parameters and the new memory; changes no tensor in place."""
