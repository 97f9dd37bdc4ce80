"""Krum and multi-Krum: the updates with the nearest neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bherd.aggregations.base import Aggregation
from bherd.aggregations.median import scaled
from bherd.parts.checks import check, check_count
from bherd.parts.records import Update

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class Krum(Aggregation):
    """The average of the `keep` updates x_i = s_i g_i of the lowest score; keep = 1 is Krum itself:

        score_i = sum of ||x_i - x_j||^2 over the n - malicious - 2 others that are nearest to x_i.

    Blanchard et al., "Machine Learning with Adversaries: Byzantine Tolerant Gradient Descent" (2017). As in
    Flower's MultiKrum the kept updates are averaged by their clients' shares p_i, where the paper counts
    each once. Equal scores go to the lower client.

    Use it where up to `malicious` clients per round work together against the others, whose data are alike.
    A larger `keep` wastes less of the honest ones. A round needs n >= 2 malicious + 3 clients.
    """

    malicious: int = 0
    """How many clients of a round may be hostile."""
    keep: int = 1
    """How many updates are averaged."""

    def __post_init__(self) -> None:
        check_count("malicious", self.malicious, 0)
        check_count("keep", self.keep)

    def combine(self, updates: Sequence[Update]) -> "Tensor":
        import torch

        clients = len(updates)
        fewest = max(2 * self.malicious + 3, self.malicious + self.keep)
        check(
            clients >= fewest,
            "clients",
            clients,
            f"{self} needs {fewest} or more in every round",
            "more clients per round, or median",
        )
        rows = scaled(updates)
        apart = torch.cdist(rows, rows, compute_mode="donot_use_mm_for_euclid_dist") ** 2
        # Each row's own distance is its smallest.
        scores = apart.sort(dim=1).values[:, 1 : clients - self.malicious - 1].sum(dim=1)
        best = scores.argsort(stable=True)[: self.keep].sort().values.tolist()
        total = sum(updates[i].share for i in best)
        kept = torch.stack([updates[i].share / total * rows[i] for i in best])
        return kept.sum(dim=0)
