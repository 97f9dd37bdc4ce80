"""The command as a whole: shared runs, kills, the tables and figures that it leaves."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from paper.__main__ import main
from paper.collect import run_directory
from paper.grid import make_curve
from paper.reproduce import Options, reproduce
from paper.results import read_results
from paper.scales import make_scale
from paper.tables import TheoremRow

ROOT = Path(__file__).parents[2]
SMALL = Options(figures=("4a", "4e"), scale="smoke", seeds=2, jobs=1, problems=("svm-mnist",))


def in_folder(folder: Path, options: Options = SMALL) -> Options:
    return Options(
        options.figures,
        options.scale,
        options.seeds,
        options.jobs,
        options.problems,
        folder / "runs",
        folder / "results",
    )


def last_loss(directory: Path) -> float:
    """The training loss after the last round of a run."""
    lines = (directory / "metrics.jsonl").read_text().splitlines()
    return float(json.loads(lines[-1])["train_loss"])


def table_bytes(folder: Path) -> dict[str, bytes]:
    """Every table of a folder of results."""
    found = (folder / "results" / "smoke").iterdir()
    return {path.name: path.read_bytes() for path in found if path.suffix in (".csv", ".parquet", ".json")}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small figures, run once for the tests of this file."""
    folder = tmp_path_factory.mktemp("reproduce")
    said: list[str] = []
    assert reproduce(in_folder(folder), said.append) == []
    # 3 cases x (BHerd at 2 steps + 2 controls) x with and without reshuffling x 2 seeds; 4a is among them
    assert "48 runs" in said[0]
    return folder


def test_tables_figures_and_page_are_there(done: Path) -> None:
    out = done / "results" / "smoke"
    assert {path.name for path in (out / "figures").iterdir()} == {"4a.png", "4e.png"}
    results = read_results(out)
    assert len(results.configurations) == 24
    assert all(row.n == 2 and row.diverged == 0 for row in results.configurations.values())
    curve = make_curve(results.scale.svm, "case1", "bherd-fedavg")
    assert len(results.heats[curve.key]) == 5
    assert results.heats[curve.key][0].share.mean() == pytest.approx(0.5)
    page = (out / "reproduction.md").read_text()
    assert "reshuffling matters little" in page
    assert "(figures/4e.png)" in page


def test_the_table_is_what_the_runs_say(done: Path) -> None:
    results = read_results(done / "results" / "smoke")
    curve = make_curve(results.scale.svm, "case2", "bherd-fedavg", step="amplified")
    losses = [last_loss(run_directory(done / "runs" / "smoke", curve, seed)) for seed in (0, 1)]
    assert results.configurations[curve.key].final_loss == pytest.approx(sum(losses) / 2)
    assert results.trajectories[curve.key].loss.mean[-1] == pytest.approx(sum(losses) / 2)
    assert losses[0] != losses[1]


def test_a_second_start_runs_nothing(done: Path) -> None:
    before = table_bytes(done)
    said: list[str] = []
    reproduce(in_folder(done), said.append)
    assert "0 to do" in said[0]
    assert table_bytes(done) == before


def test_redrawing_runs_nothing_and_changes_no_table(done: Path, tmp_path: Path) -> None:
    shutil.copytree(done / "results", tmp_path / "results")
    before = table_bytes(tmp_path)
    shutil.rmtree(tmp_path / "results" / "smoke" / "figures")
    page = tmp_path / "results" / "smoke" / "reproduction.md"
    written = page.read_text()
    page.unlink()
    folders = ["--work", str(tmp_path / "w"), "--out", str(tmp_path / "results")]
    assert main(["4a", "4e", "--redraw", "--jobs", "1", *folders]) == 0
    assert table_bytes(tmp_path) == before
    assert not (tmp_path / "w").exists()
    figures = tmp_path / "results" / "smoke" / "figures"
    assert {path.name for path in figures.iterdir()} == {"4a.png", "4e.png"}
    assert page.read_text() == written


def test_redrawing_without_tables_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--redraw", "--out", str(tmp_path)]) == 2
    assert "holds no readable results" in capsys.readouterr().err


def test_curves_without_runs_keep_their_rows(done: Path, tmp_path: Path) -> None:
    shutil.copytree(done, tmp_path / "again")
    again = tmp_path / "again"
    before = table_bytes(again)
    curve = make_curve(make_scale("smoke", cifar=False).svm, "case1", "bherd-fedavg")
    work = again / "runs" / "smoke"
    for path in work.iterdir():
        if path.is_dir() and not path.name.startswith(curve.key):
            shutil.rmtree(path)
    shutil.rmtree(run_directory(work, curve, 1))
    reproduce(replace(in_folder(again), figures=("theorem",), problems=("cnn-mnist",)), lambda _: None)
    after = table_bytes(again)
    changed = {name for name in before if before[name] != after[name]}
    assert "runs.csv" in changed
    old, new = (read_results(folder / "results" / "smoke") for folder in (done, again))
    assert new.configurations[curve.key].n == 1  # its runs are there: they count, and not the table
    others = set(old.configurations) - {curve.key}
    assert others
    for key in others:
        assert new.runs[key] == old.runs[key]
        assert repr(new.configurations[key]) == repr(old.configurations[key])
        assert new.trajectories[key].loss.mean.tolist() == old.trajectories[key].loss.mean.tolist()
    kept = next(key for key in others if key in old.heats)
    assert new.heats[kept][0].share.tolist() == old.heats[kept][0].share.tolist()
    assert new.concentrations[kept] == old.concentrations[kept]


def test_unfinished_and_broken_off_runs_are_completed(done: Path, tmp_path: Path) -> None:
    shutil.copytree(done, tmp_path / "again")
    scale = make_scale("smoke", cifar=False)
    work = tmp_path / "again" / "runs" / "smoke"
    gone, empty, stub = (
        run_directory(work, make_curve(scale.svm, case, "bherd-fedavg"), 0)
        for case in ("case1", "case2", "case3")
    )
    shutil.rmtree(gone)
    shutil.rmtree(empty)
    empty.mkdir()
    (empty / ".config.toml.tmp").write_text("[met")
    for path in stub.iterdir():
        if path.name != "config.toml":  # killed before the first checkpoint
            path.unlink()
    said: list[str] = []
    assert reproduce(in_folder(tmp_path / "again"), said.append) == []
    assert "3 to do" in said[0]
    assert table_bytes(tmp_path / "again") == table_bytes(done)


def test_a_run_that_cannot_go_on_is_named(done: Path, tmp_path: Path) -> None:
    shutil.copytree(done, tmp_path / "again")
    curve = make_curve(make_scale("smoke", cifar=False).svm, "case1", "bherd-fedavg")
    broken = run_directory(tmp_path / "again" / "runs" / "smoke", curve, 1)
    (broken / "summary.json").unlink()
    (broken / "checkpoint.safetensors").write_bytes(b"no checkpoint")
    failures = reproduce(in_folder(tmp_path / "again"), lambda _: None)
    assert len(failures) == 1
    assert broken.name in failures[0]
    results = read_results(tmp_path / "again" / "results" / "smoke")
    assert results.configurations[curve.key].n == 1


def test_the_theorem_alone_makes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = TheoremRow("case1", "equation", "x", 0, 1e-4, 5, 1.5, 0.5, 2.0, 3, 0.1, 9.0, True, 1.0, 2.0, True)
    monkeypatch.setattr("paper.reproduce.check_theorem", lambda _scale, _tell: [row])
    options = replace(in_folder(tmp_path), figures=("theorem",))
    assert reproduce(options, lambda _: None) == []
    assert read_results(tmp_path / "results" / "smoke").theorem == [row]


def test_bad_arguments_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["5z"]) == 2
    assert "5z" in capsys.readouterr().err
    assert main(["step", "--seeds", "0"]) == 2
    assert "--seeds" in capsys.readouterr().err
    assert main(["step", "--ray-address", "auto"]) == 2
    assert "--engine ray" in capsys.readouterr().err


def test_dry_run_only_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = ["--work", str(tmp_path / "w"), "--out", str(tmp_path / "o")]
    assert main(["3a", "--dry-run", "--problems", "svm-mnist", *folders]) == 0
    assert "to do" in capsys.readouterr().out
    assert not (tmp_path / "o").exists()


def command(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The command in a process of its own, which leads a group of its own."""
    places = ["--work", str(folder / "runs"), "--out", str(folder / "results")]
    return subprocess.Popen(
        [sys.executable, "-m", "paper", *arguments, *places],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_three_kills_change_nothing(done: Path, tmp_path: Path) -> None:
    arguments = ["4a", "4e", "--seeds", "2", "--jobs", "2", "--problems", "svm-mnist"]
    work = tmp_path / "runs" / "smoke"
    for wanted in (1, 8, 16):
        process = command(tmp_path, *arguments)
        limit = time.monotonic() + 120
        while len(list(work.glob("*/config.toml"))) < wanted and time.monotonic() < limit:
            time.sleep(0.01)
            assert process.poll() is None, "it ended before it could be killed"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not (tmp_path / "results").exists()
    assert command(tmp_path, *arguments).wait(timeout=300) == 0
    assert table_bytes(tmp_path) == table_bytes(done)


@pytest.mark.slow
def test_ray_gives_the_same_tables(done: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    arguments = ["4a", "4e", "--seeds", "2", "--jobs", "2", "--problems", "svm-mnist", "--engine", "ray"]
    assert command(tmp_path, *arguments).wait(timeout=300) == 0
    assert table_bytes(tmp_path) == table_bytes(done)


@pytest.mark.slow
def test_every_figure_at_the_smoke_scale(tmp_path: Path) -> None:
    assert command(tmp_path, "all", "--scale", "smoke").wait(timeout=1500) == 0
    out = tmp_path / "results" / "smoke"
    names = {path.stem for path in (out / "figures").glob("*.png")}
    wanted = {"step", "3a-smallest", "4a", "4b", "4c", "4d", "4e"}
    wanted |= {f"3{letter}-{quantity}" for letter in "abcd" for quantity in ("loss", "accuracy")}
    for problem in ("svm-mnist", "cnn-mnist", "cnn-cifar10"):
        wanted |= {f"2a-{problem}", f"2b-fednova-{problem}", f"2b-scaffold-{problem}"}
    wanted |= {f"{name}-cnn-{data}" for name in ("eta", "rates") for data in ("mnist", "cifar10")}
    assert names == wanted
    assert {path.suffix for path in (out / "figures").iterdir()} == {".png"}
    results = read_results(out)
    assert len(results.theorem) == 6 + 18
    assert sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) < 20e6
