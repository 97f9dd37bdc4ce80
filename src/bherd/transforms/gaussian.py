"""Clip the update and hide it in Gaussian noise."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.checks import check_not_negative, check_positive
from bherd.parts.part import Tensors
from bherd.parts.records import Sent
from bherd.transforms.base import Transform
from bherd.transforms.clip import clipped
from bherd.transforms.size import full_size

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class ClipAndNoise(Transform):
    """Sends u min(1, C / ‖u‖) + N(0, (σ C)² I), with C = `norm` and σ = `noise`: the Gaussian mechanism.

    McMahan et al., "Learning Differentially Private Recurrent Language Models" (2018), after Abadi et al.,
    "Deep Learning with Differential Privacy" (2016). Here every client adds the noise itself, so that the
    server never sees a clean update; the mean of n clients has noise of standard deviation σ C / √n.

    There is no accountant yet: nothing computes the (ε, δ) that a run has spent, so a run with this part
    may not be called differentially private with any number. The noise comes from the run's seeded
    generator, which is right for studies and no secret from whoever knows the seed.
    """

    private: ClassVar[bool] = True

    norm: float = 1.0
    noise: float = 1.0

    def __post_init__(self) -> None:
        check_positive("norm", self.norm)
        check_not_negative("noise", self.noise)

    def send(self, state: Tensors, update: "Tensor", client: int, stream: "np.random.Generator") -> Sent:
        import torch

        del client
        drawn = torch.from_numpy(stream.standard_normal(update.numel())).to(update)
        hidden = clipped(update, self.norm) + self.noise * self.norm * drawn
        return Sent(hidden, state, full_size(update))
