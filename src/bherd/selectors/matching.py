"""GradMatch: few gradients with weights, whose sum stands for the sum of all."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.checks import check_share
from bherd.parts.records import Kept
from bherd.selectors.base import Selector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class MatchingPursuit(Selector):
    """Keeps at most k = max(1, floor(α τ + 1/2)) steps with weights w ≥ 0 that make up the sum of all.

    Orthogonal matching pursuit: with S the steps taken so far and r = Σ_t g_t - Σ_{j in S} w_j g_j,

        S <- S + argmax over the rest of <g_j, r>,   w = argmin over w ≥ 0 of ‖Σ_t g_t - Σ_{j in S} w_j g_j‖,

    until k are taken or no <g_j, r> is positive. Ties go to the lowest index; a step whose weight falls to
    zero is left out; where the gradients sum to zero, all of them count once. Killamsetty et al.,
    "GRAD-MATCH: Gradient Matching based Data Subset Selection for Efficient Deep Model Training" (2021),
    here without its penalty on the weights.

    The weights are the fitted ones, so that the update approximates the plain sum of all steps, and their
    sum is what the update counts as: the share is measured, Σ w / τ. The server thus makes the step as long
    as τ times the weighted mean; the authors' library CORDS normalizes the weights alike. Use it to see
    whether a choice with weights beats one without; it costs τ² d multiplications in double precision.
    """

    weighted: ClassVar[bool] = True
    draws: ClassVar[bool] = False
    alpha: float = 0.5

    def __post_init__(self) -> None:
        check_share(self.alpha)

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        from bherd.algorithms.matching import matching_pursuit
        from bherd.algorithms.share import kept_count

        del stream
        return Kept(*matching_pursuit(trace, kept_count(self.alpha, len(trace))))
