"""Gradient stores: what each keeps, what it leaves on disk, and what a run computes with it."""

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from bherd import methods
from bherd.algorithms.herding import herding_order
from bherd.engines import SimulateEngine, linear_compiled
from bherd.loop.rounds import run_rounds
from bherd.loop.state import Local, RunPlan, start_state
from bherd.method import Method
from bherd.orders.reshuffled import Reshuffled
from bherd.parts.records import Kept
from bherd.stores import STORES, Store, make_store
from bherd.stores.base import SummedTwice
from bherd.stores.disk import DiskStore, sweep
from bherd.stores.sketch import SketchStore
from bherd.tasks.task import Task
from tests.tiny import CATALOGUE, Run, tiny_task

DEAD = 2**22 + 1
"""A process number that no Linux system gives out."""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def federate(task: Task, method: Method, store: Store, *, workers: int = 1) -> Run:
    method = replace(method, order=Reshuffled())
    local = Local(10, 1.0, 0.05, 0)
    plan = RunPlan(2, 1.0, 1.0, 0.05, 0)
    state, records = start_state(task, method), []
    with closing(SimulateEngine(task, method, local, workers, store)) as engine:
        for after, record in run_rounds(engine, task, method, plan, state):
            state = after
            records.append(record)
    return Run(state, records)


def gradients(steps: int = 30, width: int = 9000) -> Tensor:
    return torch.randn(steps, width, generator=torch.Generator().manual_seed(2)) + 0.3


def filled(store: Store, values: Tensor) -> Tensor:
    rows = store.rows(len(values), values[0])
    for step, value in enumerate(values):
        row = rows.row(step)
        assert not row.any()
        row += value
        rows.done(step)
    return rows.trace


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("model", ["svm", "logistic", "mlp"])
@pytest.mark.parametrize("name", ["disk", "sketch"])
def test_disk_and_wide_enough_sketches_are_exact(
    name: str, model: str, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sketch of gradients that are no longer than it is turns signs round, and no more."""
    monkeypatch.setattr(linear_compiled, "COMPILED_FROM", 0 if compiled else 10**9)
    task = tiny_task(model)
    method = methods.named("bherd-scaffold", alpha=0.5)
    store = SketchStore(0, width=10**6) if name == "sketch" else make_store(name, 0)
    exact, other = (federate(task, method, kept) for kept in (make_store("memory", 0), store))
    assert other.kept == exact.kept
    if name == "disk":
        assert torch.equal(other.params, exact.params)
    assert torch.allclose(other.params, exact.params, rtol=0, atol=1e-12)
    for one, two in zip(other.records, exact.records, strict=True):
        mine, exactly = (
            [(outcome.distance, outcome.random_distance) for outcome in record.outcomes]
            for record in (one, two)
        )
        assert np.allclose(mine, exactly, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", [n for n in CATALOGUE if n.endswith(("average-equation", "average-plain"))])
def test_every_selector_runs_on_every_store_whatever_the_workers(store: str, name: str) -> None:
    task = tiny_task("mlp", dtype=torch.float32)
    one, two = (federate(task, CATALOGUE[name], make_store(store, 0), workers=w) for w in (1, 2))
    assert torch.equal(one.params, two.params)
    assert one.kept == two.kept
    exact = federate(task, CATALOGUE[name], make_store("memory", 0))
    assert torch.allclose(one.params, exact.params, atol=0.05)


def test_half_precision_rounds_and_sums_in_full() -> None:
    values = gradients()
    trace = filled(make_store("half", 0), values)
    assert trace.dtype == torch.bfloat16
    assert torch.equal(trace, values.to(torch.bfloat16))
    same = set(herding_order(trace, 15).tolist()) & set(herding_order(values, 15).tolist())
    assert len(same) >= 12


def test_sketches_keep_inner_products_on_average() -> None:
    values = gradients(steps=4)
    exact = values @ values.T
    errors = []
    for seed in range(40):
        trace = filled(SketchStore(seed, width=500), values)
        assert trace.shape == (4, 500)
        errors.append((trace @ trace.T - exact) / float(exact.diagonal().mean()))
    spread = torch.stack(errors)
    assert float(spread.abs().max()) < 6 / np.sqrt(500)
    assert float(spread.mean(0).abs().max()) < 4 / np.sqrt(500 * 40)


def test_a_sketch_is_the_same_whenever_it_is_taken() -> None:
    values = gradients(steps=3)
    first, second, other = (filled(SketchStore(seed, width=64), values) for seed in (1, 1, 2))
    assert torch.equal(first, second)
    assert not torch.equal(first, other)


def test_the_second_pass_sums_what_was_kept() -> None:
    values = gradients(steps=5, width=4)
    for weights in (None, np.array([2.0, 0.5])):
        rows = SummedTwice(values[0], Kept(np.array([3, 1]), weights))
        for step, value in enumerate(values):
            rows.row(step).add_(value)
            rows.done(step)
        three, one = (1.0, 1.0) if weights is None else (2.0, 0.5)
        total = three * values[3] + one * values[1]
        assert torch.allclose(rows.kept_sum, total)
        distance = torch.linalg.vector_norm(total / (three + one) - values.mean(0))
        assert rows.distance() == pytest.approx(float(distance), rel=1e-5)
    assert rows.squares == pytest.approx(float(values.square().sum()), rel=1e-5)
    assert rows.spread() == pytest.approx(float((values - values.mean(0)).square().sum()), rel=1e-4)


def test_nothing_stays_on_disk_while_and_after_it_is_used(tmp_path: Path) -> None:
    store = DiskStore(tmp_path / "here")
    rows = store.rows(3, torch.zeros(10, dtype=torch.float64))
    rows.row(1).fill_(7.0)
    assert rows.trace[1].tolist() == [7.0] * 10
    assert rows.trace.dtype == torch.float64
    assert list((tmp_path / "here").iterdir()) == []


def test_the_next_start_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    left, alive, foreign = (
        tmp_path / name for name in (f"gradients-{DEAD}-aa", "gradients-1-bb", "notes.txt")
    )
    for path in (left, alive, foreign):
        path.write_bytes(b"x")
    sweep(tmp_path)
    assert not left.exists()
    assert alive.exists()
    assert foreign.exists()


def test_a_killed_process_leaves_no_file_after_the_next_start(own_cache: Path) -> None:
    script = """
        import os, sys, torch
        from bherd.stores import make_store
        rows = make_store("disk", 0).rows(50, torch.zeros(1000))
        rows.row(0).fill_(1.0)
        print("ready", flush=True)
        sys.stdin.read()
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "XDG_CACHE_HOME": str(own_cache)},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGKILL)
    store = make_store("disk", 0)
    assert isinstance(store, DiskStore)
    assert store.folder.is_relative_to(own_cache)
    assert list(store.folder.iterdir()) == []
