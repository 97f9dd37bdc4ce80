"""Keep a random share of the gradients: the control for every claim that a choice is a good one."""

from functools import partial

import numpy as np
from torch import Tensor

from bherd.algorithms.share import kept_count
from bherd.method import Indices, Selector
from bherd.parts.checks import check_share


def random_share(alpha: float = 0.5) -> Selector:
    """The selector that keeps k = max(1, floor(alpha tau + 1/2)) gradients, uniformly at random.

    It is treated by the server exactly as herding is (same nominal alpha, same factor E), so that
    the two differ in nothing but the choice. A result that random selection reaches as well is not
    due to herding.
    """
    check_share(alpha)

    def select(trace: Tensor, stream: np.random.Generator) -> Indices:
        order: Indices = stream.permutation(len(trace))
        return order[: kept_count(alpha, len(trace))]

    return Selector(
        name="random",
        select=select,
        share=alpha,
        scales_with_epochs=True,
        count=partial(kept_count, alpha),
    )
