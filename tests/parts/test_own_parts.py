"""A user's package with a part of their own for each axis: run, compared, killed, resumed, reported, sent."""

import importlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import bherd
from bherd.config import Config
from bherd.errors import InputError
from bherd.flower import Rules
from bherd.flower.server_app import run_federation
from bherd.parts.spec import build
from bherd.parts.table import AXES
from bherd.runs.read import read_run
from bherd.testing import check
from tests.command_line import run as bherd_command
from tests.flower.grid import MemoryGrid, nodes
from tests.places import python_path
from tests.small_runs import read_lines
from tests.tiny import tiny_config

PACKAGE = Path(__file__).with_name("mine.py.txt")
PARTS = {
    "participation": "mine:Turns",
    "order": "mine:Backwards",
    "optimizer": "mine:SignSgd,share=0.2",
    "correction": "mine:PullHome,mu=0.1",
    "selector": "mine:Last,share=0.4",
    "transform": "mine:Rounded",
    "aggregation": "mine:Clipped",
    "server": "mine:HeavyBall,beta=0.5",
    "shipped": "mine:HalfWay",
}
FLAGS = [word for axis, part in PARTS.items() for word in (f"--{axis}", part)]
LONG = 300


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the user's package on the path, and nothing of it left afterwards."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "mine.py").write_text(PACKAGE.read_text())
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    sys.modules.pop("mine", None)
    importlib.invalidate_caches()
    from bherd.parts import spec

    spec._complete.cache_clear()
    spec._signature.cache_clear()


def settings(tmp_path: Path, rounds: int = 4) -> Config:
    return tiny_config(tmp_path, method="fedavg", rounds=rounds, cohort=2, dtype="float64", **PARTS)


def without_seconds(directory: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in line.items() if k != "seconds"} for line in read_lines(directory)]


def same_model(one: Path, other: Path) -> bool:
    here, there = load_file(one / "model.safetensors"), load_file(other / "model.safetensors")
    return all(torch.equal(here[name], there[name]) for name in there)


def test_the_package_is_short_and_answers_every_question() -> None:
    assert len(PACKAGE.read_text().splitlines()) < 140
    assert set(PARTS) == set(AXES)


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("axis", AXES)
def test_each_keeps_the_contract(axis: str) -> None:
    check(build(axis, PARTS[axis]))


@pytest.mark.usefixtures("package")
def test_they_run_under_their_own_names(tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert bherd_command("run", "--method", "fedavg", *FLAGS, "--rounds", 3, "--cohort", 3, "--out", out) == 0
    found = read_run(out)
    assert {axis: getattr(found.config.method, axis) for axis in AXES} == PARTS
    assert set(found.sources) == {text.partition(",")[0] for text in PARTS.values()}
    assert found.lines[-1].round == 3


@pytest.mark.usefixtures("package")
def test_a_killed_run_is_resumed_to_the_last_bit(package: Path, tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    options = [
        "--method",
        "fedavg",
        *FLAGS,
        "--rounds",
        str(LONG),
        "--cohort",
        "3",
        "--checkpoint-every",
        "7",
    ]
    assert bherd_command("run", *options, "--quiet", "--out", whole) == 0
    command = [sys.executable, "-m", "bherd", "run", *options, "--quiet", "--out", str(killed)]
    path = f"{package}:{python_path()}"
    with subprocess.Popen(command, env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"}) as process:
        deadline = time.monotonic() + 60
        log = killed / "metrics.jsonl"
        while not (log.exists() and log.read_bytes().count(b"\n") > 20) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert not (killed / "summary.json").exists(), "the kill came too late to show anything"
    assert bherd_command("resume", killed, "--quiet") == 0
    assert without_seconds(killed) == without_seconds(whole)
    assert same_model(killed, whole)


@pytest.mark.usefixtures("package")
def test_they_are_compared_with_paired_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = "fedavg,selector=mine:Last,selector.share=0.4,server=mine:HeavyBall"
    out = tmp_path / "compared"
    code = bherd_command(
        "compare",
        "fedavg",
        own,
        f"{own},server.beta=0.1",
        "--seeds",
        2,
        "--rounds",
        3,
        "--jobs",
        1,
        "--out",
        out,
    )
    assert code == 0
    assert "mine:Last" in capsys.readouterr().out
    assert len(list(out.glob("*/seed-*/summary.json"))) == 6


def test_reports_and_listings_do_without_the_module(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs" / "one"
    bherd.run(settings(tmp_path), out=out)
    (package / "mine.py").unlink()
    sys.modules.pop("mine")
    assert bherd_command("runs", tmp_path / "runs") == 0
    assert bherd_command("report", out, "--out", tmp_path / "report.html") == 0
    assert "mine:Last" in capsys.readouterr().out
    assert "mine" not in sys.modules


@pytest.mark.usefixtures("package")
def test_a_federation_gives_the_same_bits(tmp_path: Path) -> None:
    config, local, networked = settings(tmp_path), tmp_path / "local", tmp_path / "networked"
    bherd.run(config.replace(checkpoint_every=1), out=local)
    rules = Rules(start_timeout=5, round_timeout=5, min_clients=2)
    run_federation(MemoryGrid(nodes(config, tmp_path)), config, rules, networked, poll=0.001)
    keep = ("round", "train_loss", "test_loss", "test_accuracy", "kept", "steps", "last_test_accuracy")
    told = [
        [{name: line.get(name) for name in keep} for line in read_lines(each)] for each in (local, networked)
    ]
    assert told[0] == told[1]
    assert same_model(local, networked)


def stop_after(directory: Path, tmp_path: Path) -> None:
    def stop(line: dict[str, object]) -> None:
        if line["round"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bherd.run(settings(tmp_path), out=directory, on_round=stop)


def test_changed_code_is_refused_unless_accepted(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    stop_after(out, tmp_path)
    (package / "mine.py").write_text(PACKAGE.read_text() + "\n# another day\n")
    assert bherd_command("resume", out) == 2
    said = capsys.readouterr().err
    assert "has changed since the run began" in said
    assert said.count("\n") == 1
    assert bherd_command("resume", out, "--accept-changed-code", "--quiet") == 0
    assert read_run(out).summary["changed_code"]


def test_a_missing_module_is_one_line(
    package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    stop_after(out, tmp_path)
    (package / "mine.py").unlink()
    sys.modules.pop("mine")
    assert bherd_command("resume", out) == 2
    said = capsys.readouterr().err
    assert "there is no module 'mine'" in said
    assert said.count("\n") == 1


@pytest.mark.usefixtures("package")
def test_parameters_that_do_not_fit_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"mine:Last has no parameter 'shar'; did you mean 'share'\?"):
        bherd.run(settings(tmp_path).replace(selector="mine:Last,shar=0.1"), out=tmp_path / "run")


def test_a_part_of_a_function_runs_in_memory_and_into_no_directory(tmp_path: Path) -> None:
    from dataclasses import dataclass

    from bherd.selectors.everything import Everything

    @dataclass(frozen=True)
    class Local(Everything):
        """All of them."""

    method = bherd.Method(Local())
    assert "Local" in str(bherd.simulate(tiny_config(tmp_path, rounds=1), method=method).config.method)
    with pytest.raises(InputError, match="a resume could not make it again"):
        bherd.run(tiny_config(tmp_path, rounds=1), method=method, out=tmp_path / "run")
