"""The contract of a local optimizer: how a client steps."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.part import Part, Tensors

if TYPE_CHECKING:
    from torch import Tensor


class LocalOptimizer(Part):
    """Turns the corrected gradient of a local step into the direction that moves the model.

    w <- w - lr direction. What is traced, kept and sent is the direction, so that the rate times the sum of
    all directions is the displacement of the local model. Its memory lasts for one client's round.
    """

    AXIS: ClassVar[str] = "optimizer"

    def is_plain(self) -> bool:
        """Whether the direction is the gradient itself, so that fused kernels may be used."""
        return False

    def init(self, params: "Tensor") -> Tensors:
        """Its memory before the first step of a round."""
        del params
        return {}

    @abstractmethod
    def direction(self, state: Tensors, gradient: "Tensor", w: "Tensor") -> tuple["Tensor", Tensors]:
        """The direction of one step at the parameters `w`, and the new memory; changes no tensor in place."""
