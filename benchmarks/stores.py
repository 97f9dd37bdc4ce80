"""Gradient stores: agreement with exact herding, time and memory, on the SVM and on the CNN."""

import json
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import psutil
import torch
from torch import Tensor

from benchmarks.tables import Cell, Table
from bherd.engines import SimulateEngine
from bherd.loop.client import Outcome
from bherd.loop.rounds import run_rounds
from bherd.loop.state import Local, RunPlan, start_state
from bherd.method import Method
from bherd.orders.fixed import FixedOrder
from bherd.parts.records import Kept
from bherd.runs.memory import peak_bytes, start_peak
from bherd.selectors.herding import Herding
from bherd.stores import STORES, make_store
from bherd.tasks.datasets import Dataset, load_dataset
from bherd.tasks.task import Task, build_task


class Case(NamedTuple):
    """A model, how many images one of its clients holds, in batches of which size."""

    model: str
    images: int
    batch: int
    lr: float


CASES = [Case("svm", 12_000, 10, 1e-3), Case("cnn", 2_000, 20, 1e-2)]
ALPHA = 0.5
NOTE = (
    "One client of {images:,} MNIST images, B = {batch} (tau = {steps}, d = {width:,}), after one round of "
    "FedAvg, alpha = 0.5. 'same steps': share of the kept steps that exact herding keeps too. 'distance': of "
    "the mean of the kept gradients from the mean of all, by the true gradients, over that of exact herding; "
    "random selection for comparison (mean of 100 draws). Time of training, selection and sum, minima of "
    "{turns} processes each, in turns; memory: growth of the process to its peak in that time."
)


def run(turns: int = 5) -> list[Table]:
    """A table for each case."""
    return [_table(case, turns) for case in CASES]


def _table(case: Case, turns: int) -> Table:
    answers: dict[str, list[dict[str, object]]] = {name: [] for name in STORES}
    for _ in range(turns):
        for name in STORES:
            command = [sys.executable, "-m", "benchmarks.stores", case.model, name]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            answers[name].append(json.loads(done.stdout))
    trace = _trace(case)
    kept = {name: np.array(all_[0]["kept"]) for name, all_ in answers.items()}
    seconds = {name: min(float(str(a["seconds"])) for a in all_) for name, all_ in answers.items()}
    exact = _distance(trace, kept["memory"])
    rows: list[tuple[Cell, ...]] = []
    for name, indices in kept.items():
        same = len(set(indices.tolist()) & set(kept["memory"].tolist())) / len(indices)
        peak = min(int(str(a["peak"])) for a in answers[name]) / 2**20
        far = _distance(trace, indices) / exact
        rows.append(
            (name, f"{same:.3f}", f"{far:.2f}", f"{seconds[name] / seconds['memory']:.2f}", f"{peak:.0f}")
        )
    draw = np.random.default_rng(0)
    chance = [draw.permutation(len(trace))[: len(kept["memory"])] for _ in range(100)]
    same = float(np.mean([np.isin(c, kept["memory"]).mean() for c in chance]))
    far = float(np.mean([_distance(trace, c) for c in chance[:20]])) / exact
    rows.append(("random selection", f"{same:.3f}", f"{far:.2f}", None, None))
    columns = ("store", "same steps", "distance / exact", "time / memory's", "peak, MB")
    note = NOTE.format(
        images=case.images, batch=case.batch, steps=len(trace), width=trace.shape[1], turns=turns
    )
    return Table(f"Stores: {case.model}", note, columns, rows)


def _distance(trace: Tensor, kept: np.ndarray) -> float:
    difference = trace[torch.from_numpy(kept)].mean(0) - trace.mean(0)
    return float(torch.linalg.vector_norm(difference))


def _task(case: Case) -> Task:
    data = load_dataset("mnist")
    x, y = data.x_train[: case.images], data.y_train[: case.images]
    part = Dataset(data.name, x, y, data.x_test, data.y_test, data.classes)
    return build_task(part, case.model, "case1", 1, seed=0)


@dataclass(frozen=True)
class Watched(Herding):
    """Herding that remembers what it was shown."""

    SEEN: ClassVar[list[Tensor]] = []

    def select(self, trace: Tensor, stream: np.random.Generator) -> Kept:
        self.SEEN.append(trace.clone())
        return super().select(trace, stream)


def _trace(case: Case) -> Tensor:
    """The true gradients of the client's second round."""
    Watched.SEEN.clear()
    outcome, _ = _second_round(case, "memory", Watched(ALPHA))
    (trace,) = Watched.SEEN
    assert len(outcome.kept) * 2 == len(trace)
    return trace


def _second_round(case: Case, store: str, selector: Herding) -> tuple[Outcome, int]:
    """The outcome, and the growth of the process while it came about."""
    task, plain, method = _task(case), Method(order=FixedOrder()), Method(selector)
    local = Local(case.batch, 1.0, case.lr, seed=0)
    plan = RunPlan(1, 1.0, 1.0, case.lr, seed=0, eval_train=False)
    with closing(SimulateEngine(task, plain, local, 1)) as engine:
        (state, _), *_ = run_rounds(engine, task, plain, plan, start_state(task, plain))
    with closing(SimulateEngine(task, method, local, 1, make_store(store, 0))) as engine:
        start_peak()
        before = psutil.Process().memory_info().rss
        (outcome,) = engine.run_clients(state, [0])
        return outcome, (peak_bytes() or before) - before


def measure(model: str, store: str) -> dict[str, object]:
    """In a process of its own."""
    case = next(case for case in CASES if case.model == model)
    _second_round(case._replace(images=4 * case.batch), store, Herding(ALPHA))  # loads and compiles
    outcome, growth = _second_round(case, store, Herding(ALPHA))
    seconds = outcome.local_seconds + outcome.select_seconds
    return {"kept": outcome.kept.tolist(), "seconds": seconds, "peak": growth}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], sys.argv[2])))
