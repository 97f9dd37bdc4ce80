"""The last model."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from bherd.parts.part import Tensors
from bherd.shipped.base import Shipped

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class LastModel(Shipped):
    """The server's own parameters after the last round.

    McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data" (2017).

    Use it unless the accuracy still swings from round to round.
    """

    is_last: ClassVar[bool] = True

    def model(self, state: Tensors, params: "Tensor") -> "Tensor":
        del state
        return params
