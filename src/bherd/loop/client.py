"""A client's half of a round: what it has to do, and what becomes of what it did.

`begin_round` says what to train, the engine trains, `finish_round` selects and reports. Every engine goes
this way.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from torch import Tensor

from bherd.errors import BherdError
from bherd.indices import Indices
from bherd.loop.kept import KeptSum, checked, sum_kept, sum_rows
from bherd.loop.snapshots import Snapshot, take
from bherd.loop.state import Local, Memory, State, remembered
from bherd.loop.visits import plan_steps
from bherd.method import Method
from bherd.optimizers.base import LocalOptimizer
from bherd.orders.base import Order
from bherd.parts.part import Tensors
from bherd.parts.records import Done, Kept, Plan, Report, Terms
from bherd.selectors.base import Selector
from bherd.transforms.base import Transform


class DivergedError(BherdError):
    """Local training produced NaN or infinity."""


class Work(NamedTuple):
    """What one client has to do in one round."""

    method: Method
    """With its schedules at this round's numbers."""
    round: int
    client: int
    samples: int
    plan: Plan
    visits: Indices | None
    """The samples of all steps, one after the other; None: first ones first, again after an epoch."""
    params: Tensor
    """Where local training begins."""
    buffers: Tensor | None
    lr: float
    terms: Terms
    memory: Memory
    """What the parts on this client remember, `order` already as it is after the visit."""
    keep_trace: bool
    """Whether the directions of all steps are needed, or only their sum."""
    started: float
    """When, on the performance counter."""

    @property
    def optimizer(self) -> LocalOptimizer:
        """How the client steps."""
        return self.method.optimizer


SumKept = Callable[[Kept], KeptSum]
"""kept steps -> the kept directions together"""


class Training(NamedTuple):
    """What local training leaves behind."""

    directions: Tensor
    """The directions of all steps, (steps, d); or their sum, (d,), where no trace was asked for."""
    loss: float
    """Mean of the batch losses along the way."""
    buffers: Tensor | None = None
    sum_kept: SumKept | None = None
    """How to sum the kept directions if `directions` holds sketches, or if the engine has a faster way."""
    loss_tells: bool = False
    """Whether the loss is NaN if any direction was not finite, so that these need not be read for it."""


class Outcome(NamedTuple):
    """A client's report to the server, and what stays with the client or goes into the records."""

    report: Report
    memory: Memory
    """What the parts on this client remember after the round."""
    kept: Indices
    """Indices of the kept steps, in order of selection."""
    loss: float
    distance: float
    random_distance: float
    """As in `KeptSum`; both are 0 where everything is kept."""
    local_seconds: float
    select_seconds: float
    snapshot: Snapshot | None = None


def begin_round(method: Method, local: Local, state: State, client: int, samples: int) -> Work:
    """What a client with so many samples has to do in the round after `state`."""
    started = time.perf_counter()
    round = state.round + 1
    now, settings = method.at(round), local.at(round)
    memory = dict(state.clients.get(client, {}))
    plan = plan_steps(samples, settings.batch_size, settings.epochs)
    visits, memory["order"] = now.visiting.visit(
        memory.get("order", {}), plan, samples, _stream(now.visiting, local, "shuffle", round, client)
    )
    if "correction" not in memory:
        memory["correction"] = now.correction.client_init(state.params)
    terms = now.correction.terms(memory["correction"], state.server.get("correction", {}))
    keep_trace = not now.selector.keeps_all or now.visiting.learns or local.snapshot(round)
    return Work(
        now,
        round,
        client,
        samples,
        plan,
        visits,
        state.params,
        state.buffers,
        settings.lr,
        terms,
        memory,
        keep_trace,
        started,
    )


def finish_round(work: Work, trained: Training, local: Local, server: Memory) -> Outcome:
    """Keep what the selector chooses, write the report, and remember.

    Args:
        work: what the client had to do.
        trained: what its training left behind.
        local: the settings of local training.
        server: what the parts on the server remember.

    Raises:
        DivergedError: a direction or a loss is not finite.
        InputError: the selector's choice is none.
    """
    method, client, steps = work.method, work.client, work.plan.steps
    finite = math.isfinite(trained.loss)
    if not (finite and (trained.loss_tells or math.isfinite(float(trained.directions.sum())))):
        raise DivergedError(f"client {client}: the local training gave NaN or infinity")
    selecting = time.perf_counter()
    kept, together = _select(work, trained, local)
    counted = float(len(kept.indices)) if kept.weights is None else float(kept.weights.sum())
    memory = dict(work.memory)
    message: Tensors = {}
    if method.correction.stateful:
        done = Done(together.sum / counted, steps, work.lr)
        memory["correction"], message = method.correction.client_end(
            memory["correction"], server.get("correction", {}), done
        )
    if method.visiting.learns:
        memory["order"] = method.visiting.observe(memory["order"], work.plan, trained.directions)
    sent = method.transform.send(
        memory.get("transform", {}),
        together.sum,
        client,
        _stream(method.transform, local, "transform", work.round, client),
    )
    memory["transform"] = sent.state
    report = Report(
        client,
        work.samples,
        steps,
        len(kept.indices),
        sent.update,
        kept_weight=counted,
        message=message,
        buffers=trained.buffers,
        bits=sent.bits,
    )
    end = time.perf_counter()
    shot = take(trained.directions) if local.snapshot(work.round) else None
    times = selecting - work.started, end - selecting
    return Outcome(
        report, remembered(memory), kept.indices, trained.loss, *together[1:], *times, snapshot=shot
    )


def _stream(
    part: Order | Selector | Transform, local: Local, purpose: str, round: int, client: int
) -> np.random.Generator:
    """A part's random numbers; one that draws none is given nothing to draw from."""
    return local.stream(purpose, round, client) if part.draws else cast(np.random.Generator, None)


def _select(work: Work, trained: Training, local: Local) -> tuple[Kept, KeptSum]:
    selector, steps, directions = work.method.selector, work.plan.steps, trained.directions
    if selector.keeps_all:
        total = directions if directions.ndim == 1 else sum_rows(directions)
        return Kept(np.arange(steps, dtype=np.int64)), KeptSum(total, 0.0, 0.0)
    chosen = selector.select(directions, _stream(selector, local, "select", work.round, work.client))
    kept = checked(selector, chosen, steps)
    return kept, (trained.sum_kept or partial(sum_kept, directions))(kept)
