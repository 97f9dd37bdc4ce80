"""Keep the gradients with the largest or the smallest norms: controls that look at length alone."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.records import Kept
from bherd.selectors.base import ShareSelector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class LargestNorms(ShareSelector):
    """Keeps the k = max(1, floor(α τ + 1/2)) steps with the largest ‖g_t‖, the largest first.

    Ties go to the lowest index. A control: it tells whether a selector gains by balance or by length, and
    by its nominal α it takes a longer step than the mean of all would. The idea is that of importance
    sampling by gradient norm: Katharopoulos and Fleuret, "Not All Samples Are Created Equal: Deep Learning
    with Importance Sampling" (2018), without the weights that would make it unbiased.
    """

    draws: ClassVar[bool] = False

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.norms import ascending, squared_norms

        del stream
        return Kept(ascending(-squared_norms(trace), trace)[: self.count(len(trace))])


@dataclass(frozen=True)
class SmallestNorms(ShareSelector):
    """Keeps the k = max(1, floor(α τ + 1/2)) steps with the smallest ‖g_t‖, the smallest first.

    Ties go to the lowest index. The opposite control to `largest`; with single samples it is close to
    keeping small losses, the usual guard against wrong labels: Shen and Sanghavi, "Learning with Bad
    Training Data via Iterative Trimmed Loss Minimization" (2019).
    """

    draws: ClassVar[bool] = False

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.norms import ascending, squared_norms

        del stream
        return Kept(ascending(squared_norms(trace), trace)[: self.count(len(trace))])
