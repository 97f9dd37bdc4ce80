"""What a grid will cost before it runs: seconds of one core, and memory.

The seconds come from a count of the arithmetic with rates measured once on one core of a server CPU;
where the work folder already holds finished runs, the ratio of their time to the count corrects it.
"""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bherd.loop.visits import plan_steps
from paper.grid import Curve
from paper.scales import Scale, Subset, WorkloadName


class Shape(NamedTuple):
    """A dataset's sizes."""

    train: int
    test: int
    channels: int
    side: int


SHAPES = {
    "mnist-mini": Shape(5000, 1000, 1, 28),
    "mnist": Shape(60_000, 10_000, 1, 28),
    "cifar10": Shape(50_000, 10_000, 3, 32),
    "synthetic-cifar": Shape(2000, 500, 3, 32),
}
# Measured rates; see the module's docstring.
SECONDS_A_RUN = 0.4
LINEAR_STEP, LINEAR_LOOK, SHUFFLED = 8.5e-8, 5e-8, 1.8
"""Seconds a sample in training and in evaluation; a new order every epoch costs so much more."""
CNN_FLOPS = 5.5e10
GRAM_FLOPS = 1.5e11
GREEDY_PICK = 4e-6
PROCESS_BYTES = 400e6


@dataclass(frozen=True)
class Cost:
    """One run's share of the work."""

    seconds: float
    bytes: float


def cost(scale: Scale, curve: Curve) -> Cost:
    """The expected time of a run on one core, and the memory of the process that does it."""
    own, shape = curve.settings, shape_of(scale, curve.workload)
    parameters, forward = _model(own.model, shape)
    clients = own.clients
    plan = plan_steps(max(1, shape.train // clients), own.batch_size, own.epochs)
    seen = clients * plan.steps * plan.batch
    looked_at = (shape.train + shape.test) / own.eval_every
    if own.model == "svm":
        rate = LINEAR_STEP * (SHUFFLED if own.reshuffle else 1.0)
        passes = (seen * rate + looked_at * LINEAR_LOOK) * shape.side**2 * shape.channels / 784
    else:
        passes = (3 * seen + looked_at) * forward / CNN_FLOPS
    select = 0.0
    if own.selector in ("bherd", "reversed"):
        kept = plan.steps * (1.0 if own.selector == "reversed" else own.share)
        select = clients * (2 * plan.steps**2 * parameters / GRAM_FLOPS + kept * GREEDY_PICK)
    trace = 0 if own.selector == "" else 2 * plan.steps * parameters * 4 + 16 * plan.steps**2
    samples = (shape.train + shape.test) * shape.channels * shape.side**2
    return Cost(SECONDS_A_RUN + own.rounds * (passes + select), PROCESS_BYTES + 6.0 * samples + trace)


def shape_of(scale: Scale, workload: WorkloadName) -> Shape:
    """The sizes of a workload's data."""
    data = scale.workload(workload).data
    if isinstance(data, Subset):
        return SHAPES[data.source]._replace(train=data.train, test=data.test)
    return SHAPES[data]


def _model(model: str | None, shape: Shape) -> tuple[int, float]:
    """Parameters, and floating-point operations of a forward pass of one sample."""
    pixels = shape.side**2
    if model == "svm":
        return shape.channels * pixels + 1, 2.0 * shape.channels * pixels
    flat = 32 * (shape.side // 4) ** 2
    parameters = 32 * (25 * shape.channels + 1) + 32 * (25 * 32 + 1) + 256 * (flat + 1) + 10 * 257
    forward = 2.0 * 25 * 32 * (shape.channels * pixels + 32 * pixels / 4) + 2.0 * 256 * (flat + 10)
    return parameters, forward


def peak_bytes(costs: Iterable[Cost], jobs: int) -> float:
    """Memory at the worst moment: the `jobs` largest runs at once, and the process that starts them."""
    largest = sorted((c.bytes for c in costs), reverse=True)[:jobs]
    return sum(largest) + PROCESS_BYTES


def correction(expected: Sequence[float], measured: Sequence[float]) -> float:
    """How much longer runs took here than counted; 1 where nothing was measured yet.

    The median, since a run may have been held up by anything, a sleeping machine included.
    """
    ratios = [took / counted for took, counted in zip(measured, expected, strict=True) if counted > 0]
    return statistics.median(ratios) if ratios else 1.0


def spell(seconds: float) -> str:
    """A duration for people."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
