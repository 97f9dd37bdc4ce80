"""Small federations for the tests: data, tasks, and runs of either engine."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bherd.aggregations.average import Average
from bherd.aggregations.nova import Nova
from bherd.config import Config
from bherd.corrections.control_variates import ControlVariates
from bherd.corrections.none import NoCorrection
from bherd.engines import ReferenceEngine, SimulateEngine
from bherd.indices import Indices
from bherd.loop.engine import Engine
from bherd.loop.memory import pack_clients, pack_server
from bherd.loop.rounds import Round, run_rounds
from bherd.loop.state import Evaluation, Local, RunPlan, State, start_state
from bherd.method import Method
from bherd.methods import named as method_named
from bherd.orders.base import Order
from bherd.orders.fixed import FixedOrder
from bherd.orders.reshuffled import Reshuffled
from bherd.parts.presets import PRESETS
from bherd.parts.records import STEP_LENGTHS, StepLength
from bherd.parts.spec import Spec, parameters
from bherd.selectors.base import Selector
from bherd.selectors.everything import Everything
from bherd.selectors.grab import Grab
from bherd.selectors.herding import Herding
from bherd.selectors.random import RandomShare
from bherd.selectors.reversed_herding import ReversedHerding
from bherd.tasks.datasets import Dataset
from bherd.tasks.task import Task, assemble

IMAGE = (1, 8, 8)
CLASSES = 4
SIZES = (25, 40, 33)
"""Unequal clients: with batches of 10 they take 2, 4 and 3 steps per epoch."""


def tiny_dataset(
    train: int = sum(SIZES), test: int = 30, shape: tuple[int, ...] = IMAGE, seed: int = 0
) -> Dataset:
    """Blurred classes of float32 samples in [0, 1]."""
    draw = np.random.default_rng(seed)
    centres = draw.random((CLASSES, *shape))

    def half(count: int) -> tuple[np.ndarray, np.ndarray]:
        labels = draw.permutation(np.arange(count) % CLASSES)
        noise = draw.random((count, *shape))
        return (0.6 * centres[labels] + 0.4 * noise).astype(np.float32), labels

    x_train, y_train = half(train)
    x_test, y_test = half(test)
    return Dataset("tiny", x_train, y_train, x_test, y_test, CLASSES)


def tiny_config(folder: Path, **changes: object) -> Config:
    """A federation of three unequal clients on a file of small images."""
    path = folder / "tiny.npz"
    if not path.exists():
        data = tiny_dataset(train=120)
        np.savez(path, x_train=data.x_train, y_train=data.y_train, x_test=data.x_test, y_test=data.y_test)
    settings: dict[str, object] = {
        "dataset": str(path),
        "model": "svm",
        "partition": "quantity:1.0",
        "clients": 3,
        "rounds": 1,
        "batch_size": 10,
        "lr": 0.05,
        "dtype": "float64",
        "workers": 1,
    }
    return Config().replace(**{**settings, **changes})


def tiny_task(
    model: str = "svm",
    sizes: Sequence[int] = SIZES,
    *,
    dtype: torch.dtype = torch.float64,
    dataset: Dataset | None = None,
    seed: int = 0,
) -> Task:
    """Clients of these sizes, who hold the samples one after the other."""
    data = tiny_dataset(sum(sizes)) if dataset is None else dataset
    bounds = np.cumsum([0, *sizes])
    order: list[Indices] = [np.arange(a, b) for a, b in pairwise(bounds)]
    return assemble(data, model, order, seed=seed, dtype=dtype, device="cpu")


ORDERS: tuple[Order, ...] = (FixedOrder(), Reshuffled())
"""The two that learn nothing."""


def memory_of(state: State) -> dict[str, Tensor]:
    """What all parts on the server and on the clients remember, under flat names."""
    return {**pack_server(state.server), **pack_clients(state.clients)}


def assert_same_state(one: State, other: State, *, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Parameters, buffers and everybody's memory, by default to the last bit."""
    assert one.round == other.round
    first, second = memory_of(one), memory_of(other)
    assert first.keys() == second.keys()
    for name in first:
        about = f"{name} is {first[name]} and {second[name]}"
        torch.testing.assert_close(first[name], second[name], rtol=rtol, atol=atol, msg=about)
    torch.testing.assert_close(one.params, other.params, rtol=rtol, atol=atol)
    assert (one.buffers is None) == (other.buffers is None)
    if one.buffers is not None:
        torch.testing.assert_close(one.buffers, other.buffers, rtol=rtol, atol=atol)


class Run(NamedTuple):
    """How a federation ended, and what each round did."""

    state: State
    records: list[Round]

    @property
    def params(self) -> Tensor:
        return self.state.params

    @property
    def losses(self) -> list[Evaluation]:
        return [r.evaluation for r in self.records if r.evaluation is not None]

    @property
    def kept(self) -> list[list[int]]:
        return [outcome.kept.tolist() for record in self.records for outcome in record.outcomes]


def federate(
    task: Task,
    method: Method,
    *,
    engine: str = "simulate",
    rounds: int = 3,
    lr: float = 0.05,
    batch: int = 10,
    epochs: float = 1.0,
    cohort: int | float = 1.0,
    order: Order | None = None,
    seed: int = 0,
    workers: int = 1,
    start: State | None = None,
) -> Run:
    """Run a method on a task to its end, in another order if one is given, from `start` if it is given."""
    if order is not None:
        method = replace(method, order=order)
    local = Local(batch, epochs, lr, seed)
    plan = RunPlan(rounds, cohort, epochs, lr, seed)
    made: Engine = (
        ReferenceEngine(task, method, local)
        if engine == "reference"
        else SimulateEngine(task, method, local, workers)
    )
    state, records = start_state(task, method) if start is None else start, []
    with closing(made) as running:
        for after, record in run_rounds(running, task, method, plan, state):
            state = after
            records.append(record)
    return Run(state, records)


def selectors(alpha: float = 0.5) -> list[Selector]:
    """The paper's, one of each kind."""
    return [Everything(), Herding(alpha), Grab(), RandomShare(alpha), ReversedHerding(alpha)]


def part_name(part: object) -> str:
    """A part's name without its parameters, for the names of tests."""
    return str(part).partition(",")[0]


def catalogue(alpha: float = 0.5) -> Iterator[tuple[str, Method]]:
    """The paper's corrections x selectors x aggregations x step lengths, all in one fixed order."""
    for correction in (NoCorrection(), ControlVariates()):
        for selector in selectors(alpha):
            for aggregation in (Average(), Nova()):
                steps: Sequence[StepLength | None] = (None,) if selector.keeps_all else STEP_LENGTHS
                for step in steps:
                    names = [part_name(part) for part in (correction, selector, aggregation)]
                    method = Method(selector, correction, aggregation, order=FixedOrder(), step=step)
                    yield "-".join([*names, step or "plain"]), method


CATALOGUE = dict(catalogue())


def named(name: str, alpha: float | None = None, step: StepLength | None = None) -> Method:
    """The named method with those of these settings that it has."""
    selector = Spec.read("selector", PRESETS[name].parts.get("selector", "everything")).name
    has_alpha = "alpha" in parameters("selector", selector)
    return method_named(
        name, alpha=alpha if has_alpha else None, step=step if selector != "everything" else None
    )
