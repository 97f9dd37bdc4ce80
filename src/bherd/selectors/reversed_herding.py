"""Reversed herding: keep what herding ranks last. A control, not a method to use.

If the herd is beneficial because it lies close to the mean gradient, the share that herding would
throw away first ought to do visibly worse at the same step length. This selector is that share.
"""

from functools import partial

import numpy as np
from torch import Tensor

from bherd.algorithms.herding import herding_order
from bherd.algorithms.share import kept_count
from bherd.method import Indices, Selector
from bherd.parts.checks import check_share


def reversed_herding(alpha: float = 0.5) -> Selector:
    """The last k = max(1, floor(alpha tau + 1/2)) of the whole greedy order, the very last first.

    The server treats it exactly as it treats herding: same nominal alpha, same factor E. It needs
    the order of all tau gradients and so takes longer than herding does.
    """
    check_share(alpha)

    def select(trace: Tensor, stream: np.random.Generator) -> Indices:
        del stream
        steps = len(trace)
        order = herding_order(trace, steps)
        return order[::-1][: kept_count(alpha, steps)].copy()

    return Selector(
        name="reversed",
        select=select,
        share=alpha,
        scales_with_epochs=True,
        count=partial(kept_count, alpha),
    )
