"""The coordinate-wise median."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bherd.aggregations.base import Aggregation
from bherd.parts.records import Update

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class Median(Aggregation):
    """D_j = median of the clients' (s_i g_i)_j: in every coordinate the value in the middle.

    Each client counts once; of an even number it is the mean of the two in the middle.
    Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates" (2018).

    Use it where up to half of the clients may send anything. It ignores how many samples a client has, and
    where clients' data differ it leaves out what only few of them know.
    """

    def combine(self, updates: Sequence[Update]) -> "Tensor":
        return middle(scaled(updates))


def scaled(updates: Sequence[Update]) -> "Tensor":
    """What each client alone would contribute, s_i g_i, of shape (clients, d)."""
    import torch

    return torch.stack([update.scale * update.vector for update in updates])


def middle(rows: "Tensor") -> "Tensor":
    """The median of each column, as `numpy.median` has it."""
    ordered, half = rows.sort(dim=0).values, len(rows) // 2
    return ordered[half] if len(rows) % 2 else (ordered[half - 1] + ordered[half]) / 2
