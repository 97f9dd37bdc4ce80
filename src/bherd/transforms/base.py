"""The contract of a transform: what of an update is sent."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.part import Part, Tensors
from bherd.parts.records import Sent

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


class Transform(Part):
    """Changes a client's update on its way to the server, and says how large it is there."""

    AXIS: ClassVar[str] = "transform"
    private: ClassVar[bool] = False
    """Whether it hides the update: then nothing else of the client's may be sent in the clear."""
    lossy: ClassVar[bool] = True
    """Whether the update arrives as another one than was sent."""
    draws: ClassVar[bool] = True
    """Whether `send` draws from its stream; False: it is given None, which saves making one."""

    @abstractmethod
    def send(self, state: Tensors, update: "Tensor", client: int, stream: "np.random.Generator") -> Sent:
        """What arrives at the server, the client's new memory, and the number of bits on the way.

        Args:
            state: the client's memory; {} in its first round.
            update: the sum of the kept directions, of shape (d,); it must not be changed in place.
            client: the number of the client.
            stream: random numbers of this client and round.
        """
