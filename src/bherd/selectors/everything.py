"""Keep every gradient: what FedAvg, FedNova and SCAFFOLD do by themselves."""

import numpy as np
from torch import Tensor

from bherd.method import Indices, Selector


def everything() -> Selector:
    """The selector that keeps all tau gradients, g_i = sum of all of them.

    Use it for the plain baselines; with it every server rule is the one of its own paper.
    """
    return Selector(
        name="everything",
        select=_all,
        share=1.0,
        scales_with_epochs=False,
        keeps_everything=True,
        count=int,
    )


def _all(trace: Tensor, stream: np.random.Generator) -> Indices:
    del stream
    return np.arange(len(trace), dtype=np.int64)
