"""A client's half of a round: train, select, report. Every engine runs this one function."""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bherd.errors import BherdError
from bherd.loop.snapshots import Snapshot, take
from bherd.method import Indices, Method, Report

_COLUMNS = 4096


class DivergedError(BherdError):
    """Local training produced NaN or infinity."""


class Kept(NamedTuple):
    """The kept gradients together, and how well they stand for all."""

    sum: Tensor
    distance: float
    """||mean of the kept gradients - mean of all||, the paper's figure 4d."""
    random_distance: float
    """The same, root mean square, over every choice of as many gradients: what chance gives."""


SumKept = Callable[[Indices], Kept]
"""kept indices -> the kept gradients together"""


class Training(NamedTuple):
    """What local training leaves behind."""

    gradients: Tensor
    """The corrected gradients, (steps, d); or their sum, (d,), where no trace was asked for."""
    steps: int
    loss: float
    """Mean of the batch losses along the way."""
    buffers: Tensor | None = None
    sum_kept: SumKept | None = None
    """Given where rows of `gradients` are not simply added up: where they only stand for the true ones,
    which takes training again, or where the engine has a faster way."""
    loss_tells: bool = False
    """Whether the loss is NaN if any gradient was not finite, so that these need not be read for it."""


Train = Callable[[Tensor, Tensor | None, bool], Training]
"""(parameters, offset added to every gradient, whether to keep the trace) -> Training"""


class Outcome(NamedTuple):
    """A client's report to the server, and what stays with the client or goes into the records."""

    report: Report
    own: Tensor
    """The client's state of the correction after this round."""
    kept: Indices
    """Indices of the kept steps, in order of selection."""
    loss: float
    distance: float
    random_distance: float
    """As in `Kept`; both are 0 where everything is kept."""
    local_seconds: float
    select_seconds: float
    snapshot: Snapshot | None = None


def client_round(
    method: Method,
    train: Train,
    *,
    client: int,
    weight: float,
    params: Tensor,
    own: Tensor,
    shared: Tensor,
    stream: np.random.Generator,
    snapshot: bool = False,
) -> Outcome:
    """Train from `params`, keep what the selector chooses and write the report.

    With `snapshot` the outcome also carries a picture of the gradients, which changes nothing else.

    Raises `DivergedError` where a gradient or a loss is not finite.
    """
    correction, selector = method.correction, method.selector
    begin = time.perf_counter()
    offset = correction.offset(own, shared) if correction.stateful else None
    trained = train(params, offset, not selector.keeps_everything)
    finite = math.isfinite(trained.loss)
    if not (finite and (trained.loss_tells or math.isfinite(float(trained.gradients.sum())))):
        raise DivergedError(f"client {client}: the local training gave NaN or infinity")
    selecting = time.perf_counter()
    if selector.keeps_everything:
        kept = np.arange(trained.steps, dtype=np.int64)
        everything = trained.gradients if trained.gradients.ndim == 1 else trained.gradients.sum(0)
        together = Kept(everything, 0.0, 0.0)
    else:
        kept = selector.select(trained.gradients, stream)
        sum_of = trained.sum_kept or partial(sum_kept, trained.gradients)
        together = sum_of(kept)
    extra = None
    if correction.stateful:
        own, extra = correction.finish(own, shared, together.sum / len(kept))
    total, buffers = together.sum, trained.buffers
    report = Report(client, weight, trained.steps, len(kept), total, extra=extra, buffers=buffers)
    end = time.perf_counter()
    shot = None
    if snapshot:
        traced = trained.gradients.ndim == 2
        seen = trained.gradients if traced else train(params, offset, True).gradients
        shot = take(seen)
    times = selecting - begin, end - selecting
    return Outcome(report, own, kept, trained.loss, *together[1:], *times, shot)


def random_distance(spread: float, steps: int, kept: int) -> float:
    """The root mean square of ||mean of the kept - mean of all|| over every choice of `kept` gradients.

    A mean of k out of τ, drawn without replacement, has the variance (1/k - 1/τ) S².

    Args:
        spread: the sum of the squared distances of all gradients from their mean, (τ - 1) S².
        steps: τ, the number of gradients.
        kept: k, the number of them in a choice.
    """
    if kept >= steps:
        return 0.0
    return math.sqrt((1 / kept - 1 / steps) * max(0.0, spread) / (steps - 1))


def sum_kept(trace: Tensor, kept: Indices) -> Kept:
    """The sum of the kept gradients and how far their mean is from the mean of all."""
    steps = len(trace)
    weights = np.zeros((2, steps))
    weights[0, kept] = 1.0
    weights[1] = weights[0] / len(kept) - 1.0 / steps
    wide = torch.promote_types(trace.dtype, torch.float32)
    factors = torch.from_numpy(weights).to(device=trace.device, dtype=wide)
    if wide == trace.dtype:
        kept_sum, difference = factors @ trace
        norms = torch.linalg.vector_norm(trace, dim=1)
        squares = float(norms @ norms)
    else:
        blocks = [block.to(wide) for block in torch.split(trace, _COLUMNS, dim=1)]
        kept_sum, difference = torch.cat([factors @ block for block in blocks], dim=1)
        squares = sum(float(torch.linalg.vector_norm(block)) ** 2 for block in blocks)
    mean = kept_sum / len(kept) - difference
    chance = random_distance(squares - steps * float(mean @ mean), steps, len(kept))
    return Kept(kept_sum, float(torch.linalg.vector_norm(difference)), chance)
