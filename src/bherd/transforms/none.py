"""Send the update as it is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.part import Tensors
from bherd.parts.records import Sent
from bherd.transforms.base import Transform
from bherd.transforms.size import full_size

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class AsItIs(Transform):
    """Sends u as it is: d numbers of the model's own precision.

    What every method does unless told otherwise.
    """

    lossy: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def send(self, state: Tensors, update: "Tensor", client: int, stream: "np.random.Generator") -> Sent:
        del client, stream
        return Sent(update, state, full_size(update))
