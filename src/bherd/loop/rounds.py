"""The round loop: the only one, whatever the engine, the method or the task."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch

from bherd.exact import decimal
from bherd.loop.client import DivergedError, Outcome
from bherd.loop.engine import Engine
from bherd.loop.seconds import Seconds
from bherd.loop.server import server_round
from bherd.loop.state import Evaluation, Schedule, State
from bherd.method import Indices, Method
from bherd.streams import stream
from bherd.tasks.task import Task


@dataclass(frozen=True)
class Round:
    """What one round did."""

    round: int
    evaluation: Evaluation | None
    """None in rounds without evaluation."""
    outcomes: list[Outcome]
    """One for each client that took part; empty where the round diverged in a client."""
    seconds: Seconds
    diverged: bool = False


def run_rounds(
    engine: Engine, task: Task, method: Method, schedule: Schedule, state: State
) -> Iterator[tuple[State, Round]]:
    """Every round after `state`, as the state it leads to and the record of what it did.

    A round that gives NaN or infinity is the last: its record says so, and the state that comes with
    it is the one before it.
    """
    while state.round < schedule.rounds:
        after, record = run_round(engine, task, method, schedule, state)
        yield after, record
        if record.diverged:
            return
        state = after


def run_round(
    engine: Engine, task: Task, method: Method, schedule: Schedule, state: State
) -> tuple[State, Round]:
    """One round: participants, their work, the server's step, an evaluation if it is due."""
    number = state.round + 1
    clients = participants(task.clients, schedule.participation, schedule.seed, number)
    begin = time.perf_counter()
    try:
        outcomes = engine.run_clients(state, clients.tolist())
    except DivergedError:
        seconds = Seconds(time.perf_counter() - begin, 0.0, 0.0, 0.0)
        return state, Round(number, None, [], seconds, diverged=True)
    trained = time.perf_counter()
    after = server_round(method, schedule, task.clients, state, outcomes)
    aggregated = time.perf_counter()
    evaluation = None
    diverged = not bool(torch.isfinite(after.params.sum()))
    due = number % schedule.eval_every == 0 or number == schedule.rounds
    if due and not diverged:
        evaluation = engine.evaluate(after.params, after.buffers, train=schedule.eval_train)
        losses = [evaluation.test_loss]
        if schedule.eval_train:
            losses.append(evaluation.train_loss)
        diverged = not all(math.isfinite(loss) for loss in losses)
    evaluated = time.perf_counter()
    local, select = _split(trained - begin, outcomes)
    seconds = Seconds(local, select, aggregated - trained, evaluated - aggregated)
    return (state if diverged else after), Round(number, evaluation, outcomes, seconds, diverged)


def participants(clients: int, participation: int | float, seed: int, round: int) -> Indices:
    """The clients of one round, ascending: all of them, or a draw without repetition.

    A whole number is a number of clients; a share s means max(1, floor(s N + 1/2)) of them.
    """
    if isinstance(participation, int):
        count = min(participation, clients)
    else:
        count = max(1, math.floor(decimal(participation) * clients + Fraction(1, 2)))
    if count == clients:
        return np.arange(clients, dtype=np.int64)
    draw = stream(seed, "participation", round)
    chosen: Indices = np.sort(draw.choice(clients, count, replace=False, shuffle=False))
    return chosen


def _split(wall: float, outcomes: list[Outcome]) -> tuple[float, float]:
    """The clock time of the clients' work, divided between training and selection."""
    local = sum(outcome.local_seconds for outcome in outcomes)
    select = sum(outcome.select_seconds for outcome in outcomes)
    return wall * local / (local + select), wall * select / (local + select)
