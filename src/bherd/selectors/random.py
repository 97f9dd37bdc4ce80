"""Keep a random share of the gradients: the control for every claim that a choice is a good one."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from bherd.parts.records import Kept
from bherd.selectors.base import ShareSelector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bherd import method
    from bherd.parts.records import Indices


@dataclass(frozen=True)
class RandomShare(ShareSelector):
    """Keeps k = max(1, floor(α τ + 1/2)) steps, uniformly at random: the first k of a permutation.

    The server treats it exactly as it treats herding (same nominal α, same factor E), so that the two
    differ in nothing but the choice. A result that this control reaches as well is not due to herding.
    """

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        return Kept(stream.permutation(len(trace))[: self.count(len(trace))])


def random_share(alpha: float = 0.5) -> "method.Selector":
    """The selector that keeps k = max(1, floor(alpha tau + 1/2)) gradients, uniformly at random.

    It is treated by the server exactly as herding is (same nominal alpha, same factor E), so that
    the two differ in nothing but the choice. A result that random selection reaches as well is not
    due to herding.
    """
    from bherd.algorithms.share import kept_count
    from bherd.method import Selector
    from bherd.parts.checks import check_share

    check_share(alpha)

    def select(trace: "Tensor", stream: "np.random.Generator") -> "Indices":
        return stream.permutation(len(trace))[: kept_count(alpha, len(trace))]

    return Selector("random", select, alpha, scales_with_epochs=True, count=partial(kept_count, alpha))
