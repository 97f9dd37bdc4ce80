"""The geometric median (RFA)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bherd.aggregations.base import Aggregation
from bherd.aggregations.median import middle, scaled
from bherd.parts.checks import check_count, check_positive
from bherd.parts.records import Update

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class GeometricMedian(Aggregation):
    """D = argmin over v of sum p_i ||v - x_i|| with x_i = s_i g_i, by the smoothed Weiszfeld algorithm:

        v <- sum b_i x_i / sum b_i,    b_i = p_i / max(eps, ||v - x_i||).

    Pillutla et al., "Robust Aggregation for Federated Learning" (2022). It starts at the coordinate-wise
    median, so that a huge update does not have to be walked back from.

    Use it where clients with less than half of the samples may send anything: unlike `median` it heeds the
    clients' shares and does not depend on the axes. It reads all updates `iterations` times.
    """

    iterations: int = 20
    """How often the weights are computed anew."""
    eps: float = 1e-6
    """Updates nearer than this, in the units of the updates, do not weigh more."""

    def __post_init__(self) -> None:
        check_count("iterations", self.iterations)
        check_positive("eps", self.eps)

    def combine(self, updates: Sequence[Update]) -> "Tensor":
        rows = scaled(updates)
        shares = rows.new_tensor([update.share for update in updates])
        centre = middle(rows)
        for _ in range(self.iterations):
            weights = shares / (rows - centre).norm(dim=1).clamp(min=self.eps)
            centre = (weights / weights.sum()) @ rows
        return centre
