"""Send the largest entries, and remember the rest."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.parts.checks import check
from bherd.parts.part import Tensors
from bherd.parts.records import Sent
from bherd.transforms.base import Transform

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

_INDEX_BITS = 32


@dataclass(frozen=True)
class TopK(Transform):
    """Sends the k = max(1, floor(share d + 1/2)) largest entries of the update and of what was left before.

        v = u + e,   sent = top_k(v),   e <- v - sent,   e = 0 at first.

    Equal magnitudes go to the lowest index. Stich et al., "Sparsified SGD with Memory" (2018); Karimireddy
    et al., "Error Feedback Fixes SignSGD and other Gradient Compression Schemes" (2019). The memory `error`
    stays with the client and waits where it is not asked; it is in the units of u, before the learning
    rate, so that what waits is spent at the rate of the round in which it is sent. On the way are k values
    and k indices of 32 bits. Use it where the way up is narrow.
    """

    share: float = 0.01

    def __post_init__(self) -> None:
        check(0 < self.share <= 1, "share", self.share, "the share of entries sent must be in (0, 1]", "0.01")

    def send(self, state: Tensors, update: "Tensor", client: int, stream: "np.random.Generator") -> Sent:
        import torch

        from bherd.algorithms.share import kept_count

        del client, stream
        wanted = update + state["error"] if "error" in state else update
        count = kept_count(self.share, wanted.numel())
        places = largest_entries(wanted, count)
        sent = torch.zeros_like(wanted)
        sent[places] = wanted[places]
        size = float(count * (8 * wanted.element_size() + _INDEX_BITS))
        return Sent(sent, {**state, "error": wanted - sent}, size)


def largest_entries(vector: "Tensor", count: int) -> "Tensor":
    """The places of the `count` largest magnitudes; of equal ones, the first."""
    import torch

    magnitude = vector.abs()
    least = magnitude.topk(count).values.min()
    above = torch.nonzero(magnitude > least)[:, 0]
    equal = torch.nonzero(magnitude == least)[:, 0]
    return torch.cat([above, equal[: count - len(above)]])
