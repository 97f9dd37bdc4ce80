"""A selector of your own works with every other part on the day it is written.

This one keeps the steps that point most in the direction of their mean. Run it with
`python examples/own_selector.py`, or from this folder as
`bherd run --method fedavg --selector own_selector:MostAligned,alpha=0.3`.
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

import bherd
from bherd.aggregations.nova import Nova
from bherd.corrections.control_variates import ControlVariates
from bherd.method import Method
from bherd.parts.records import Kept
from bherd.selectors.base import ShareSelector


@dataclass(frozen=True)
class MostAligned(ShareSelector):
    """Keep the share alpha of the steps with the largest cosine to the mean of all."""

    def select(self, trace: Tensor, stream: np.random.Generator) -> Kept:
        del stream
        cosines = (trace @ trace.mean(0)) / trace.norm(dim=1).clamp_min(1e-12)
        order = (-cosines).argsort(stable=True).cpu().numpy()
        return Kept(order[: self.count(len(trace))])


if __name__ == "__main__":
    config = bherd.Config().replace(rounds=30, lr=1e-3)
    for name, method in {
        "FedAvg": bherd.methods.named("fedavg"),
        "most aligned under FedAvg": Method(MostAligned(0.5)),
        "most aligned under FedNova": Method(MostAligned(0.5), aggregation=Nova()),
        "most aligned under SCAFFOLD": Method(MostAligned(0.5), ControlVariates(), step="amplified"),
    }.items():
        result = bherd.simulate(config, method=method)
        print(f"{name:<28} accuracy {result.accuracy:.2%} after {len(result.metrics)} rounds")
