"""Clip the update to a norm."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.parts.checks import check_positive
from bherd.parts.part import Tensors
from bherd.parts.records import Sent
from bherd.transforms.base import Transform
from bherd.transforms.size import full_size

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class Clip(Transform):
    """Sends u min(1, C / ‖u‖): an update longer than C = `norm` is scaled down to it.

    Pascanu et al., "On the difficulty of training recurrent neural networks" (2013), there for single
    gradients; McMahan et al., "Learning Differentially Private Recurrent Language Models" (2018), for the
    updates of clients. Use it to bound what one client can do. u is the sum of the kept directions before
    the learning rate, so that C grows with the number of local steps.
    """

    norm: float = 1.0

    def __post_init__(self) -> None:
        check_positive("norm", self.norm)

    def send(self, state: Tensors, update: "Tensor", client: int, stream: "np.random.Generator") -> Sent:
        del client, stream
        return Sent(clipped(update, self.norm), state, full_size(update))


def clipped(update: "Tensor", norm: float) -> "Tensor":
    """The update, scaled down to the norm if it is longer."""
    import torch

    length = float(torch.linalg.vector_norm(update, dtype=torch.float64))
    return update * (norm / length) if length > norm else update
