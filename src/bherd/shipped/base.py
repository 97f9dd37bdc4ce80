"""The contract of the last question: which model is evaluated and saved."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.part import Part, Tensors

if TYPE_CHECKING:
    from torch import Tensor


class Shipped(Part):
    """Follows the server's parameters and says which model is shipped. Training never sees it."""

    AXIS: ClassVar[str] = "shipped"
    is_last: ClassVar[bool] = False
    """Whether the shipped model is the server's own, so that nothing need be followed."""

    def init(self, params: "Tensor") -> Tensors:
        """Its memory before the first round."""
        del params
        return {}

    def update(self, state: Tensors, params: "Tensor") -> Tensors:
        """Its memory after a round that led to `params`."""
        del params
        return state

    @abstractmethod
    def model(self, state: Tensors, params: "Tensor") -> "Tensor":
        """The parameters that are shipped."""
