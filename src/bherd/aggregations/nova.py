"""Normalized averaging (FedNova)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from bherd.aggregations.average import weighted_sum
from bherd.aggregations.base import Aggregation
from bherd.parts.records import Update

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class Nova(Aggregation):
    """D = tau_eff sum p_i g_i / k_i, tau_eff = sum p_i tau_i: means are averaged instead of sums.

    Wang et al., "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization"
    (2020).

    Use it where clients differ in their number of steps: one with more steps does not weigh more than its
    samples do. With equal steps and everything kept it is `average`.
    """

    normalizes: ClassVar[bool] = True

    def combine(self, updates: Sequence[Update]) -> "Tensor":
        return weighted_sum(updates)
