"""The examples of the pages on the report, on tracking and on querying, run as they stand."""

import re
from pathlib import Path

import pandas as pd
import pytest

from bherd.runs.life import run
from report_runs import BASE, comparison
from small_runs import read_lines

DOCS = Path(__file__).parent.parent / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a user has it: runs/mine and runs/my-comparison."""
    where = tmp_path_factory.mktemp("user")
    run(BASE.replace(rounds=6, snapshot_every=3), where / "runs" / "mine")
    comparison(where / "runs" / "my-comparison", seeds=1, base=BASE.replace(rounds=4))
    return where


def test_querying(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    found = blocks("querying.md")
    assert len(found) == 3
    for block in found:
        exec(compile(block, "querying.md", "exec"), names)
    printed = capsys.readouterr().out
    best = max(line["test_accuracy"] for line in read_lines(Path("runs/mine")))
    assert f"best accuracy: {best}" in printed
    everything = names["everything"]
    assert isinstance(everything, pd.DataFrame)
    assert sorted(everything["method"].unique()) == ["bherd-fedavg", "fedavg", "random-fedavg"]
    assert "kept_again" in printed


def test_report_from_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (block,) = blocks("report.md")
    exec(compile(block, "report.md", "exec"), {})
    assert "Does the herd help?" in Path("report.html").read_text()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::Warning")
def test_tracking(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    for block in blocks("tracking.md"):
        exec(compile(block, "tracking.md", "exec"), names)
    assert Path("lab.db").exists()
    assert list(Path("events").glob("events.out.*"))
    accuracy = read_lines(Path("runs/said"))[-1]["test_accuracy"]
    assert f"3 {accuracy}" in capsys.readouterr().out.splitlines()
