"""How far the mean of a random choice of gradients is from the mean of all, as every run records it."""

import itertools
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from bherd import methods
from bherd.engines import linear_compiled
from bherd.loop.kept import sum_kept
from bherd.parts.records import Kept
from bherd.report.herd import distances
from bherd.runs import directory as names
from bherd.runs.read import read_run
from bherd.runs.tables import CLIENTS_SCHEMA
from tests.report_runs import BASE, made_up_run, record_files
from tests.tiny import federate, tiny_task


def by_definition(trace: torch.Tensor, kept: int) -> float:
    """The root of the mean square over every choice, one by one."""
    mean = trace.mean(0)
    choices = itertools.combinations(range(len(trace)), kept)
    squares = [float((trace[list(choice)].mean(0) - mean).square().sum()) for choice in choices]
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.parametrize("kept", [1, 3, 6, 7])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_it_is_the_root_mean_square_over_every_choice(kept: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(kept)
    trace = (torch.randn(7, 5000, generator=generator, dtype=torch.float64) + 0.7).to(dtype)
    found = sum_kept(trace, Kept(np.arange(kept))).random_distance
    assert found == pytest.approx(by_definition(trace.double(), kept), rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 3.7, 1e8])
def test_equal_gradients_leave_nothing_to_chance(value: float) -> None:
    trace = torch.full((6, 50), value, dtype=torch.float64)
    assert sum_kept(trace, Kept(np.array([4, 1]))).random_distance <= 1e-6 * value


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("model", ["svm", "logistic", "mlp"])
def test_engines_record_the_same(model: str, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_compiled, "COMPILED_FROM", 0 if compiled else 10**9)
    task, method = tiny_task(model), methods.named("random-fedavg", alpha=0.4)
    one = federate(task, method, engine="reference")
    other = federate(task, method, engine="simulate")
    for first, second in zip(one.records, other.records, strict=True):
        for a, b in zip(first.outcomes, second.outcomes, strict=True):
            assert a.random_distance > 0
            assert b.random_distance == pytest.approx(a.random_distance, rel=1e-9)


def test_random_selection_lies_at_chance_and_herding_below() -> None:
    relative = {}
    for name in ("random-fedavg", "bherd-fedavg", "fedavg"):
        run = federate(tiny_task("logistic"), methods.named(name), rounds=60, batch=3)
        outcomes = [outcome for record in run.records for outcome in record.outcomes]
        kept = [(o.distance / o.random_distance) ** 2 for o in outcomes if o.random_distance > 0]
        relative[name] = float(np.sqrt(np.mean(kept))) if kept else math.nan
    assert relative["random-fedavg"] == pytest.approx(1, abs=0.1)
    assert relative["bherd-fedavg"] < 0.8
    assert math.isnan(relative["fedavg"])


def test_the_report_does_not_take_shrinking_gradients_for_progress(tmp_path: Path) -> None:
    """Gradients that halve from round to round, and a choice that is always 0.6 of chance: a flat line."""
    path = made_up_run(tmp_path / "run", BASE, rounds=8, steps=4)
    table = pq.read_table(path / names.CLIENTS)
    chance = 0.5 ** table["round"].to_numpy() * (1 + table["client"].to_numpy())
    chance[:3] = 0  # these kept everything
    for name, values in (("random_distance", chance), ("distance", 0.6 * chance)):
        table = table.set_column(CLIENTS_SCHEMA.names.index(name), name, pa.array(values))
    pq.write_table(table, path / names.CLIENTS)
    record_files(path)
    found = distances(read_run(path), points=100)
    assert found.round == list(range(1, 9))
    assert found.relative == pytest.approx([0.6] * 8)
