"""What a reader of a run directory is shown is what was recorded, or it is told which file is not."""

import json
import os
import shutil
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bherd.cli import main
from bherd.errors import DamagedFileError, InputError
from bherd.report import build
from bherd.runs import directory as names
from bherd.runs.life import resume, run
from bherd.runs.read import Run, read_run
from tests.small_runs import small_config, stopped_run


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ended")
    run(small_config(folder), folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stopped_run(tmp_path_factory.mktemp("stopped"))


def edit_accuracy(directory: Path) -> str:
    lines = (directory / names.METRICS).read_text().splitlines()
    last = json.loads(lines[-1])
    lines[-1] = json.dumps({**last, "test_accuracy": 0.9999})
    (directory / names.METRICS).write_text("\n".join(lines) + "\n")
    return names.METRICS


def edit_alpha(directory: Path) -> str:
    path = directory / names.CONFIG
    path.write_text(path.read_text().replace("alpha=0.5", "alpha=0.25"))
    return names.CONFIG


def edit_partition(directory: Path) -> str:
    path = directory / names.PARTITION
    with np.load(path) as stored:
        rows, sizes = stored["rows"][::-1], stored["sizes"]
    np.savez_compressed(path, rows=rows, sizes=sizes)
    return names.PARTITION


def lose_partition(directory: Path) -> str:
    (directory / names.PARTITION).unlink()
    return names.PARTITION


def lose_metrics(directory: Path) -> str:
    (directory / names.METRICS).unlink()
    return names.METRICS


def replace_metrics_by_a_pipe(directory: Path) -> str:
    (directory / names.METRICS).unlink()
    os.mkfifo(directory / names.METRICS)
    return names.METRICS


def everything(run: Run) -> None:
    for read in (run.clients, run.ledger, run.snapshots, run.partition):
        read()


EDITS = [edit_accuracy, edit_alpha, edit_partition, lose_partition, lose_metrics, replace_metrics_by_a_pipe]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("kind", ["ended", "stopped"])
def test_what_was_not_recorded_is_not_shown(
    kind: str, edit: Callable[[Path], str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    directory = Path(shutil.copytree(request.getfixturevalue(kind), tmp_path / "run"))
    everything(read_run(directory))
    name = edit(directory)
    with pytest.raises(InputError, match=name):
        everything(read_run(directory))
    with pytest.raises(InputError, match=name):
        build([directory], tmp_path / "report.html")


def test_the_list_of_runs_names_the_damaged_one_and_shows_the_others(
    ended: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ended, tmp_path / "whole")
    edit_accuracy(Path(shutil.copytree(ended, tmp_path / "edited")))
    assert main(["runs", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "99.99" not in printed
    assert "metrics.jsonl is damaged" in " ".join(printed.split())


@pytest.mark.parametrize(
    "line", ["1", "null", "[]", '"x"', "{}", '{"round": "x"}', "[" * 100_000, '{"round": 1e999}']
)
def test_lines_of_another_kind_are_named(stopped: Path, tmp_path: Path, line: str) -> None:
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    with (directory / names.METRICS).open("a") as file:  # behind what the checkpoint records
        file.write(line + "\n")
    with pytest.raises(DamagedFileError, match=names.METRICS):
        read_run(directory)


FORGED: list[dict[str, Any]] = [
    {"status": "complete", "files": {}},
    {"status": "diverged", "files": {}},
    {"status": "complete"},
    {"status": "complete", "files": {name: {"length": -1, "sha256": "0" * 64} for name in names.FINAL}},
    {"status": "complete", "files": {name: {"length": 0.0, "sha256": "0" * 64} for name in names.FINAL}},
    {"status": "complete", "files": {name: [0, "0" * 64] for name in names.FINAL}},
]


@pytest.mark.parametrize("summary", FORGED, ids=range(len(FORGED)))
def test_a_forged_summary_destroys_nothing(stopped: Path, tmp_path: Path, summary: dict[str, Any]) -> None:
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    (directory / names.SUMMARY).write_text(json.dumps(summary))
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    with pytest.raises(DamagedFileError, match=names.SUMMARY):
        resume(directory)
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before


def test_a_log_that_is_empty_by_its_mark_may_be_missing(tmp_path: Path) -> None:
    """A power loss can keep the checkpoint and lose the names of empty logs."""
    directory = stopped_run(tmp_path)
    whole = run(small_config(tmp_path), tmp_path / "whole")
    (directory / names.SNAPSHOTS_LOG).unlink()
    assert read_run(directory).snapshots().num_rows == 0
    assert resume(directory)["final"]["test_loss"] == whole["final"]["test_loss"]


def test_a_reader_beside_a_writer_sees_whole_rounds(tmp_path: Path) -> None:
    config = small_config(tmp_path).replace(rounds=30)
    writer = get_context("spawn").Process(target=run, args=(config, tmp_path / "run"))
    writer.start()
    seen = []
    try:
        deadline = time.monotonic() + 60
        while writer.is_alive() and time.monotonic() < deadline:
            if names.is_run(tmp_path / "run"):
                found = read_run(tmp_path / "run")
                everything(found)
                seen.append(found.rounds_done)
    finally:
        writer.join(60)
    assert writer.exitcode == 0
    assert seen == sorted(seen)
    assert read_run(tmp_path / "run").rounds_done == 30
