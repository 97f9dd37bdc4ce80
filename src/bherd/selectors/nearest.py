"""Keep the gradients nearest to their mean: herding's aim without its balance, as a control."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.records import Kept
from bherd.selectors.base import ShareSelector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class NearestToMean(ShareSelector):
    """Keeps the k = max(1, floor(α τ + 1/2)) steps with the smallest ‖g_t - mean of all g‖, nearest first.

    Ties go to the lowest index. A control: each step is judged by itself, where herding judges the sum of
    those taken, so that two steps that err to opposite sides are worth nothing here and much there.
    """

    draws: ClassVar[bool] = False

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.norms import ascending, squared_distances

        del stream
        return Kept(ascending(squared_distances(trace), trace)[: self.count(len(trace))])
