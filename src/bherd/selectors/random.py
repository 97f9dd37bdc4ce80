"""Keep a random share of the gradients: the control for every claim that a choice is a good one."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.parts.records import Kept
from bherd.selectors.base import ShareSelector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class RandomShare(ShareSelector):
    """Keeps k = max(1, floor(α τ + 1/2)) steps, uniformly at random: the first k of a permutation.

    The server treats it exactly as it treats herding (same nominal α, same factor E), so that the two
    differ in nothing but the choice. A result that this control reaches as well is not due to herding.
    """

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        return Kept(stream.permutation(len(trace))[: self.count(len(trace))])
