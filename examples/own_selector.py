"""A selector of your own works with every server rule on the day it is written.

This one keeps the gradients with the smallest norm. Run it with `python examples/own_selector.py`.
"""

import numpy as np
from torch import Tensor

import bherd
from bherd.corrections import control_variates, no_correction
from bherd.method import Indices, Method, Selector
from bherd.selectors import kept_count
from bherd.servers import average, nova


def smallest(alpha: float) -> Selector:
    """Keep the share alpha of the gradients with the smallest norm."""

    def select(trace: Tensor, stream: np.random.Generator) -> Indices:
        del stream
        order: Indices = trace.norm(dim=1).argsort(stable=True).numpy()
        return order[: kept_count(alpha, len(trace))]

    return Selector(name="smallest", select=select, share=alpha, scales_with_epochs=True)


config = bherd.Config().replace(rounds=30, lr=1e-3)
for name, method in {
    "FedAvg": bherd.methods.fedavg(),
    "smallest under FedAvg": Method(no_correction(), smallest(0.5), average()),
    "smallest under FedNova": Method(no_correction(), smallest(0.5), nova()),
    "smallest under SCAFFOLD": Method(control_variates(), smallest(0.5), average("amplified")),
}.items():
    result = bherd.simulate(config, method=method)
    print(f"{name:<26} accuracy {result.accuracy:.2%} after {len(result.metrics)} rounds")
