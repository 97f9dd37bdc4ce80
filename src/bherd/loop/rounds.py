"""The round loop: the only one, whatever the engine, the method or the task."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from bherd.loop.client import DivergedError, Outcome
from bherd.loop.engine import Engine
from bherd.loop.seconds import Seconds
from bherd.loop.server import choose_clients, server_round, shipped_params
from bherd.loop.state import Evaluation, RunPlan, State
from bherd.method import Method
from bherd.tasks.task import Task


@dataclass(frozen=True)
class Round:
    """What one round did."""

    round: int
    evaluation: Evaluation | None
    """Of the model that is shipped; None in rounds without evaluation."""
    outcomes: list[Outcome]
    """One for each client that took part; empty where the round diverged in a client."""
    seconds: Seconds
    diverged: bool = False
    last: Evaluation | None = None
    """Of the server's own model, where another one is shipped."""


def run_rounds(
    engine: Engine, task: Task, method: Method, plan: RunPlan, state: State
) -> Iterator[tuple[State, Round]]:
    """Every round after `state`, as the state it leads to and the record of what it did.

    A round that gives NaN or infinity is the last: its record says so, and the state that comes with
    it is the one before it.
    """
    while state.round < plan.rounds:
        after, record = run_round(engine, task, method, plan, state)
        yield after, record
        if record.diverged:
            return
        state = after


def run_round(engine: Engine, task: Task, method: Method, plan: RunPlan, state: State) -> tuple[State, Round]:
    """One round: participants, their work, the server's step, an evaluation if it is due."""
    number = state.round + 1
    clients, asked = choose_clients(method, plan, task.clients, state)
    begin = time.perf_counter()
    try:
        outcomes = engine.run_clients(asked, clients)
    except DivergedError:
        seconds = Seconds(time.perf_counter() - begin, 0.0, 0.0, 0.0)
        return state, Round(number, None, [], seconds, diverged=True)
    trained = time.perf_counter()
    after = server_round(method, plan, task.clients, asked, outcomes)
    aggregated = time.perf_counter()
    evaluation = last = None
    diverged = not bool(torch.isfinite(after.params.sum()))
    due = number % plan.eval_every == 0 or number == plan.rounds
    if due and not diverged:
        shipped = shipped_params(method, after)
        evaluation = engine.evaluate(shipped, after.buffers, train=plan.eval_train)
        diverged = not _finite(evaluation, train=plan.eval_train)
        if shipped is not after.params:
            last = engine.evaluate(after.params, after.buffers, train=plan.eval_train)
    evaluated = time.perf_counter()
    local, select = _split(trained - begin, outcomes)
    seconds = Seconds(local, select, aggregated - trained, evaluated - aggregated)
    return (state if diverged else after), Round(number, evaluation, outcomes, seconds, diverged, last)


def _finite(evaluation: Evaluation, *, train: bool) -> bool:
    losses = [evaluation.test_loss, evaluation.train_loss] if train else [evaluation.test_loss]
    return all(math.isfinite(loss) for loss in losses)


def _split(wall: float, outcomes: list[Outcome]) -> tuple[float, float]:
    """The clock time of the clients' work, divided between training and selection."""
    local = sum(outcome.local_seconds for outcome in outcomes)
    select = sum(outcome.select_seconds for outcome in outcomes)
    return wall * local / (local + select), wall * select / (local + select)
