"""The examples of the pages on the report, on tracking and on querying, run as they stand."""

import re
from pathlib import Path

import pandas as pd
import pytest

from bherd.runs.life import run
from tests.places import ROOT
from tests.report_runs import BASE, comparison
from tests.small_runs import read_lines

DOCS = ROOT / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a user has it: a run, a comparison, and what else comes to lie there."""
    where = tmp_path_factory.mktemp("user")
    run(BASE.replace(rounds=6, snapshot_every=3), where / "runs" / "mine")
    comparison(where / "runs" / "my-comparison", seeds=2, base=BASE.replace(rounds=4))
    fedavg = BASE.replace(name="fedavg", rounds=4)
    run(fedavg, where / "runs" / "the-same-again")
    run(fedavg.replace(partition="case1", seed=1), where / "runs" / "another-task")
    run(fedavg.replace(lr=1e30, seed=2), where / "runs" / "diverged")
    return where


def test_querying(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {}
    found = blocks("querying.md")
    assert len(found) == 4
    for block in found:
        exec(compile(block, "querying.md", "exec"), names)
    printed = capsys.readouterr().out
    best = max(line["test_accuracy"] for line in read_lines(Path("runs/mine")))
    assert f"best accuracy: {best}" in printed
    assert "kept_again" in printed
    means = names["means"]
    assert isinstance(means, pd.DataFrame)
    table = means.reset_index().set_index(["method.name", "task.partition", "train.rounds"])
    expected = {
        ("bherd-fedavg", "case2", "6"): ["mine"],
        ("bherd-fedavg", "case2", "4"): [f"my-comparison/bherd-fedavg_alpha0.5/seed-{s}" for s in range(2)],
        ("fedavg", "case2", "4"): [f"my-comparison/fedavg/seed-{s}" for s in range(2)],
        ("random-fedavg", "case2", "4"): [f"my-comparison/random-fedavg_alpha0.3/seed-{s}" for s in range(2)],
        ("fedavg", "case1", "4"): ["another-task"],
    }
    assert set(table.index) == set(expected)
    for key, where in expected.items():
        finals = [read_lines(Path("runs") / name)[-1]["test_accuracy"] for name in where]
        assert table.loc[key, "count"] == len(finals)
        assert table.loc[key, "mean"] == pytest.approx(sum(finals) / len(finals), abs=1e-12)


def test_pages_name_the_extra_that_they_need() -> None:
    for page in DOCS.glob("*.md"):
        text = page.read_text()
        if re.search(r"^import (pandas|duckdb)", text, flags=re.MULTILINE):
            assert "bherd[analysis]" in text, page.name


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
