"""The coordinate-wise trimmed mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bherd.aggregations.base import Aggregation
from bherd.aggregations.median import scaled
from bherd.parts.checks import check
from bherd.parts.records import Update

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class TrimmedMean(Aggregation):
    """D_j = mean of the clients' (s_i g_i)_j without the floor(share n) smallest and as many largest.

    Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates" (2018). Each of
    the n clients of the round counts once.

    Use it where at most this share of the clients may send anything: it wastes less of the others than
    `median`. With fewer than 1 / share clients nothing is trimmed and it is the plain mean.
    """

    share: float = 0.1
    """The share of the clients that is left out at each end."""

    def __post_init__(self) -> None:
        check(0 <= self.share < 0.5, "share", self.share, "must be in [0, 0.5)", "0.1")

    def combine(self, updates: Sequence[Update]) -> "Tensor":
        cut = int(self.share * len(updates))
        return scaled(updates).sort(dim=0).values[cut : len(updates) - cut].mean(dim=0)
