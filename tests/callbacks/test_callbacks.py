"""Trackers, each read back from what it wrote; callbacks; and what happens when things go wrong."""

import json
import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bherd
from bherd.callbacks import TRACKERS, Callback, mlflow, resume_with, run_with, tensorboard, trackers, wandb
from bherd.errors import InputError
from tests.small_runs import read_lines

CONFIG = bherd.Config().replace(rounds=4, lr=1e-3, workers=1, eval_every=2)


def test_a_callback_hears_start_rounds_and_end_in_order(tmp_path: Path) -> None:
    heard: list[tuple[str, Any]] = []
    callback = Callback(
        start=lambda config, directory: heard.append(("start", (config.run.seed, directory.name))),
        round=lambda line: heard.append(("round", line["round"])),
        end=lambda summary: heard.append(("end", summary and summary["status"])),
    )
    summary = run_with(CONFIG, tmp_path / "run", [callback])
    rounds = [("round", number) for number in (1, 2, 3, 4)]
    assert heard == [("start", (0, "run")), *rounds, ("end", "complete")]
    assert summary["status"] == "complete"


def test_five_lines_of_your_own(tmp_path: Path) -> None:
    accuracies: list[float] = []

    def remember(line: dict[str, Any]) -> None:
        if line["test_accuracy"] is not None:
            accuracies.append(line["test_accuracy"])

    run_with(CONFIG, tmp_path / "run", [Callback(round=remember)])
    lines = read_lines(tmp_path / "run")
    assert accuracies == [line["test_accuracy"] for line in lines if line["test_accuracy"] is not None]
    assert len(accuracies) == 2


def test_callbacks_change_no_result(tmp_path: Path) -> None:
    run_with(CONFIG, tmp_path / "with", [Callback(round=lambda line: line.clear())])
    run_with(CONFIG, tmp_path / "without", [])
    watched, plain = (
        [{k: v for k, v in line.items() if k != "seconds"} for line in read_lines(tmp_path / name)]
        for name in ("with", "without")
    )
    assert watched == plain
    same = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("with", "without")]
    assert same[0] == same[1]


def test_a_failing_callback_still_ends_the_others_and_the_run_can_go_on(tmp_path: Path) -> None:
    ends: list[object] = []

    def fail(line: dict[str, Any]) -> None:
        if line["round"] == 2:
            raise RuntimeError("tracker is gone")

    with pytest.raises(RuntimeError, match="tracker is gone"):
        run_with(CONFIG, tmp_path / "run", [Callback(round=fail), Callback(end=ends.append)])
    assert ends == [None]
    told: list[int] = []
    summary = resume_with(tmp_path / "run", [Callback(round=lambda line: told.append(line["round"]))])
    assert summary["status"] == "complete"
    assert told[-1] == 4


def test_nothing_is_started_for_a_run_that_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    started: list[object] = []
    callback = Callback(start=lambda *_: started.append(1), end=lambda _: started.append(2))
    with pytest.raises(InputError, match="not empty"):
        run_with(CONFIG, tmp_path, [callback])
    assert started == []


def test_unknown_tracker_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="did you mean 'tensorboard'"):
        trackers(["tensorbord"])
    assert [type(one) for one in trackers(list(TRACKERS))] == [Callback] * 3


def test_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"pip install 'bherd\[mlflow\]'"):
        mlflow()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_bherd_run_tracks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bherd.cli import main

    words = ["run", "--rounds", "2", "--workers", "1", "--quiet", "--out", str(tmp_path / "run")]
    assert main([*words, "--track", "tensorbored"]) == 2
    assert "did you mean 'tensorboard'" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    assert main([*words, "--track", "tensorboard"]) == 0
    assert list((tmp_path / "run" / "tensorboard").glob("events.out.*"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_reads_back(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run_with(CONFIG, tmp_path / "run", [tensorboard()])
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    lines = read_lines(tmp_path / "run")
    evaluated = [line for line in lines if line["test_accuracy"] is not None]
    accuracy = events.Scalars("test_accuracy")
    assert [event.step for event in accuracy] == [line["round"] for line in evaluated]
    assert [event.value for event in accuracy] == pytest.approx([li["test_accuracy"] for li in evaluated])
    assert [event.value for event in events.Scalars("kept")] == [line["kept"] for line in lines]
    assert [event.step for event in events.Scalars("seconds/select")] == [1, 2, 3, 4]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::Warning")
def test_mlflow_reads_back_from_its_sqlite_store(tmp_path: Path) -> None:
    from mlflow.tracking import MlflowClient

    address = f"sqlite:///{tmp_path / 'mlflow.db'}"
    run_with(CONFIG, tmp_path / "run", [mlflow(address, "my experiment")])
    client = MlflowClient(tracking_uri=address)
    experiment = client.get_experiment_by_name("my experiment")
    assert experiment is not None
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.status == "FINISHED"
    assert found.data.params["method.name"] == "bherd-fedavg"
    assert found.data.params["train.lr"] == "0.001"
    history = client.get_metric_history(found.info.run_id, "train_loss")
    lines = [line for line in read_lines(tmp_path / "run") if line["train_loss"] is not None]
    assert [(metric.step, metric.value) for metric in history] == [
        (line["round"], line["train_loss"]) for line in lines
    ]


@pytest.fixture
def quiet_wandb(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / "wandb-home"))
    yield
    for name in list(os.environ):
        if name.startswith("WANDB_") and name not in (
            "WANDB_CACHE_DIR",
            "WANDB_CONFIG_DIR",
            "WANDB_DATA_DIR",
        ):
            monkeypatch.delenv(name, raising=False)


def wandb_records(path: Path) -> Iterator[bytes]:
    """The records of a .wandb file: a 7-byte head, then LevelDB's log format in blocks of 32 KiB."""
    data, at, part = path.read_bytes(), 7, b""
    assert data[:4] == b":W&B"
    while at + 7 <= len(data):
        left = 32768 - at % 32768
        if left < 7:
            at += left
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        part += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # a whole record, or the last piece of one
            yield part
            part = b""


@pytest.mark.slow
@pytest.mark.usefixtures("quiet_wandb")
@pytest.mark.filterwarnings("ignore::Warning")
def test_wandb_offline_reads_back(tmp_path: Path) -> None:
    from wandb.proto.wandb_internal_pb2 import Record

    run_with(CONFIG, tmp_path / "run", [wandb()])
    (written,) = (tmp_path / "run" / "wandb").glob("offline-run-*/*.wandb")
    records = [Record()]
    deadline = time.monotonic() + 60  # another process writes the file, at its own pace
    while records[-1].WhichOneof("record_type") != "exit":
        assert time.monotonic() < deadline, f"{len(records)} records, and the last is not the run's end"
        time.sleep(0.1)
        records = [Record.FromString(data) for data in wandb_records(written)] or [Record()]
    history: list[dict[str, Any]] = [
        {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.WhichOneof("record_type") == "history"
    ]
    lines = read_lines(tmp_path / "run")
    assert [row["_step"] for row in history] == [1, 2, 3, 4]
    assert [row["kept"] for row in history] == [line["kept"] for line in lines]
    assert history[1]["test_accuracy"] == lines[1]["test_accuracy"]
    assert "test_accuracy" not in history[0]
