"""The weighted average (FedAvg, BHerd)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast, final

from bherd.aggregations.base import Aggregation
from bherd.parts.records import Update

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class Average(Aggregation):
    """D = sum p_i s_i g_i: every client counts by its share p_i of the samples.

    McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data" (2017).

    Use it where all clients are honest and take about as many steps; where their steps differ much see
    `nova`, where some may be broken or hostile `median`, `trimmed`, `krum` or `geometric-median`.
    """

    def combine(self, updates: Sequence[Update]) -> "Tensor":
        return weighted_sum(updates)


def weighted_sum(updates: Sequence[Update]) -> "Tensor":
    """The sum of weight times vector, in the order of the clients."""
    return cast("Tensor", sum(update.weight * update.vector for update in updates))
