"""Snapshots: right by the library's own selection, and invisible to the run that takes them."""

import hashlib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import bherd
from bherd.callbacks import Callback, run_with
from bherd.loop.snapshots import due, take
from bherd.runs import directory as names
from bherd.runs.life import resume, run
from tests.small_runs import read_lines

CONFIG = bherd.Config().replace(rounds=6, lr=1e-3, workers=1, batch_size=100)


@pytest.fixture
def trace() -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(23, 40, generator=generator, dtype=torch.float64) + 2.0


def test_every_prefix_of_the_order_is_what_herding_keeps(trace: torch.Tensor) -> None:
    order = take(trace).order
    for alpha in (0.01, 0.1, 0.29, 0.5, 0.77, 1.0):
        kept = bherd.herd(trace, alpha)
        assert order[: len(kept)].tolist() == kept.tolist()


def test_distances_are_those_of_the_definition(trace: torch.Tensor) -> None:
    shot = take(trace)
    rows, mean = trace.numpy(), trace.numpy().mean(0)
    for count in range(1, len(trace) + 1):
        direct = np.linalg.norm(rows[shot.order[:count]].mean(0) - mean)
        assert shot.distance[count - 1] == pytest.approx(direct, abs=1e-12)


def test_plane_is_the_one_of_the_principal_components(trace: torch.Tensor) -> None:
    shot = take(trace)
    rows = trace.numpy()
    centred = rows - rows.mean(0)
    left, scale, right = np.linalg.svd(centred, full_matrices=False)
    for axis in range(2):
        expected = left[:, axis] * scale[axis]
        sign = np.sign(expected[np.abs(expected).argmax()])
        np.testing.assert_allclose(shot.plane[:, axis], sign * expected, atol=1e-5)
        assert shot.mean[axis] == pytest.approx(sign * float(rows.mean(0) @ right[axis]), abs=1e-8)
        assert shot.explained[axis] == pytest.approx(scale[axis] ** 2 / (scale**2).sum())
    assert shot.mean_norm == pytest.approx(np.linalg.norm(rows.mean(0)))


def test_long_gradients_are_taken_in_pieces(monkeypatch: pytest.MonkeyPatch, trace: torch.Tensor) -> None:
    whole = take(trace)
    monkeypatch.setattr("bherd.loop.snapshots._COLUMNS", 7)
    pieces = take(trace)
    np.testing.assert_allclose(pieces.plane, whole.plane, atol=1e-6)
    assert pieces.mean == pytest.approx(whole.mean, abs=1e-9)


def test_half_precision_is_pictured_in_single(trace: torch.Tensor) -> None:
    """The coordinates are those of the rounded gradients, not roundings of coordinates."""
    rounded = trace.to(torch.bfloat16)
    np.testing.assert_allclose(take(rounded).plane, take(rounded.to(torch.float64)).plane, atol=1e-4)


@pytest.mark.parametrize("steps", [1, 2])
def test_one_and_two_steps_have_a_snapshot_too(steps: int) -> None:
    shot = take(torch.arange(steps * 3, dtype=torch.float32).reshape(steps, 3))
    assert shot.plane.shape == (steps, 2)
    assert sorted(shot.order.tolist()) == list(range(steps))
    assert shot.distance[-1] == pytest.approx(0.0, abs=1e-6)


def test_equal_gradients_lie_at_the_mean() -> None:
    shot = take(torch.ones(5, 7))
    assert not shot.plane.any()
    assert shot.explained == (0.0, 0.0)


def test_due_rounds() -> None:
    assert [number for number in range(1, 11) if due(4, number)] == [4, 8]
    assert not any(due(0, number) for number in range(10))


@pytest.mark.parametrize("method", ["fedavg", "bherd-scaffold", "grab-fedavg"])
@pytest.mark.parametrize("engine", ["simulate", "reference"])
def test_taking_snapshots_changes_nothing_else(tmp_path: Path, method: str, engine: str) -> None:
    config = CONFIG.replace(name=method, engine=engine, rounds=3, batch_size=250)
    run(config, tmp_path / "without")
    run(config.replace(snapshot_every=1), tmp_path / "with")
    assert not (tmp_path / "without" / names.SNAPSHOTS).exists()
    assert pq.read_table(tmp_path / "with" / names.SNAPSHOTS).num_rows == 15
    for name in (names.MODEL, names.LEDGER):
        assert _digest(tmp_path / "with" / name) == _digest(tmp_path / "without" / name)
    assert _untimed(tmp_path / "with") == _untimed(tmp_path / "without")


def test_recorded_snapshots_agree_with_the_ledger(tmp_path: Path) -> None:
    run(CONFIG.replace(snapshot_every=3, alpha=0.3), tmp_path / "run")
    ledger = pq.read_table(tmp_path / "run" / names.LEDGER).to_pandas()
    rows = pq.read_table(tmp_path / "run" / names.SNAPSHOTS).to_pylist()
    assert sorted({row["round"] for row in rows}) == [3, 6]
    for row in rows:
        mine = ledger[
            (ledger["round"] == row["round"]) & (ledger["client"] == row["client"]) & ledger["kept"]
        ]
        assert row["kept"] == mine.sort_values("rank")["step"].tolist()
        assert row["order"][: len(row["kept"])] == row["kept"]


def test_an_interrupted_run_ends_with_the_same_snapshots(tmp_path: Path) -> None:
    config = CONFIG.replace(snapshot_every=2, checkpoint_every=3)
    run(config, tmp_path / "straight")

    def stop(line: dict[str, object]) -> None:
        if line["round"] == 5:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        run_with(config, tmp_path / "stopped", [Callback(round=stop)])
    resume(tmp_path / "stopped")
    straight, stopped = (
        pq.read_table(tmp_path / name / names.SNAPSHOTS).to_pylist() for name in ("straight", "stopped")
    )
    assert [row["round"] for row in straight] == [2] * 5 + [4] * 5 + [6] * 5
    assert straight == stopped


def _untimed(directory: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in line.items() if k != "seconds"} for line in read_lines(directory)]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
