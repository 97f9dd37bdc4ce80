"""The command line as a user meets it: outcomes, exit codes, and one clear line for every bad input."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bherd.parts.spec import complete
from bherd.parts.table import TABLE
from tests.command_line import FAST, run

pytestmark = pytest.mark.usefixtures("empty_folder")


def npz(path: Path, samples: int = 40, **replaced: object) -> Path:
    rng = np.random.default_rng(0)
    arrays: dict[str, object] = {
        "x_train": rng.normal(size=(samples, 6)).astype(np.float32),
        "y_train": np.arange(samples) % 4,
        "x_test": rng.normal(size=(8, 6)).astype(np.float32),
        "y_test": np.arange(8) % 4,
        **replaced,
    }
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def test_run_writes_the_run_directory_and_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", *FAST, "--out", "here") == 0
    printed = capsys.readouterr().out
    assert "results: here" in printed
    assert re.search(r"2 rounds in .* accuracy \d", printed)
    files = {path.name for path in Path("here").iterdir()}
    assert files == {
        "config.toml",
        "metrics.jsonl",
        "clients.parquet",
        "ledger.parquet",
        "partition.npz",
        "model.safetensors",
        "summary.json",
    }


def test_default_folders_do_not_collide() -> None:
    assert run("run", *FAST, "--quiet") == 0
    assert run("run", *FAST, "--quiet") == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == [
        "bherd-fedavg-mnist-mini-case2-seed0",
        "bherd-fedavg-mnist-mini-case2-seed0-2",
    ]


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", *FAST, "--quiet", "--out", "here") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == ""


def test_json_is_a_line_a_round_and_a_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", *FAST, "--json", "--out", "here") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line.get("round") for line in lines] == [1, 2, None]
    assert lines[2]["summary"]["status"] == "complete"
    assert lines[2]["directory"] == "here"
    stored = [json.loads(line) for line in Path("here/metrics.jsonl").read_text().splitlines()]
    assert stored == lines[:2]


def test_a_diverging_run_stops_and_exits_with_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "--rounds", "50", "--lr", "1e9", "--out", "here") == 3
    assert "diverged in round" in capsys.readouterr().err
    summary = json.loads(Path("here/summary.json").read_text())
    assert summary["status"] == "diverged"
    assert summary["diverged_at"] < 50
    assert run("resume", "here") == 3


def test_flags_win_over_set_and_set_over_the_file() -> None:
    Path("c.toml").write_text('[train]\nrounds = 5\nlr = 0.5\n[task]\nmodel = "logistic"\n')
    arguments = ["run", "--config", "c.toml", "--set", "train.lr=0.25", "--set", "run.eval_train=false"]
    assert run(*arguments, "--rounds", "1", "--out", "here", "--quiet") == 0
    written = Path("here/config.toml").read_text()
    assert "rounds = 1\n" in written
    assert "lr = 0.25\n" in written
    assert 'model = "logistic"\n' in written
    assert "eval_train = false\n" in written
    assert "[environment]" in written


def test_the_written_config_runs_again() -> None:
    assert run("run", *FAST, "--method", "random-scaffold", "--out", "a", "--quiet") == 0
    assert run("run", "--config", "a/config.toml", "--out", "b", "--quiet") == 0
    assert Path("a/model.safetensors").read_bytes() == Path("b/model.safetensors").read_bytes()


def test_what_was_left_to_defaults_is_spelled_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", *FAST, "--partition", "dirichlet") == 0
    header = capsys.readouterr().out.splitlines()[0]
    assert header == (
        "bherd-fedavg alpha=0.5 order=fixed on mnist-mini (dirichlet:0.5, 5 clients), svm, 2 rounds, "
        "B = 100, lr = 0.001, one fixed sample order, seed 0"
    )
    (directory,) = Path("runs").iterdir()
    assert directory.name == "bherd-fedavg-mnist-mini-dirichlet0.5-seed0"
    assert 'partition = "dirichlet:0.5"\n' in (directory / "config.toml").read_text()


def test_the_order_defaults_to_the_method_s_habit() -> None:
    for method, habit in (("fedavg", "reshuffled"), ("bherd-fedavg", "fixed"), ("grab-scaffold", "fixed")):
        assert run("run", *FAST, "--method", method, "--out", method, "--quiet") == 0
        assert f'order = "{habit}"\n' in Path(method, "config.toml").read_text()
    assert run("run", *FAST, "--method", "fedavg", "--order", "fixed", "--out", "fixed", "--quiet") == 0
    assert 'order = "fixed"\n' in Path("fixed/config.toml").read_text()


def test_centralized_is_one_client_with_all_data() -> None:
    assert run("run", *FAST, "--method", "centralized", "--clients", "7", "--out", "here", "--quiet") == 0
    with np.load("here/partition.npz") as parts:
        assert parts["sizes"].tolist() == [5000]
        assert sorted(parts["rows"]) == list(range(5000))


def test_damaged_and_unusable_datasets_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    whole = npz(Path("whole.npz")).read_bytes()
    Path("cut.npz").write_bytes(whole[: len(whole) // 2])
    npz(Path("nan.npz"), x_test=np.full((8, 6), np.nan, dtype=np.float32))
    npz(Path("short.npz"), y_train=np.arange(3))
    flags = [*FAST, "--model", "svm", "--clients", "2"]
    for name in ("cut", "nan", "short"):
        assert run("run", *flags, "--dataset", f"{name}.npz", "--out", "here") == 2
        error = capsys.readouterr().err
        assert f"{name}.npz" in error
        assert len(error.splitlines()) == 1
        assert not Path("here").exists()
    assert run("run", *flags, "--dataset", "whole.npz", "--batch-size", "5", "--quiet") == 0


def test_even_against_odd_is_not_the_default_for_classes_that_are_no_digits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    labels = np.array([0, 500])
    npz(Path("gap.npz"), y_train=labels[np.arange(40) % 2], y_test=labels[np.arange(8) % 2])
    flags = ["--dataset", "gap.npz", "--clients", "2", "--batch-size", "5"]
    for command in (["run"], ["compare", "fedavg", "bherd-fedavg"], ["federation", "up"]):
        assert run(*command, *flags, "--out", "here") == 2
        error = capsys.readouterr().err
        assert re.search("model is not set.*gap.npz.*--model logistic", error)
        assert len(error.splitlines()) == 1
        assert not Path("here").exists()
    for command in (["run"], ["compare", "fedavg", "--seeds", "1"]):
        assert run(*command, *flags, "--rounds", "1", "--model", "svm", "--out", command[0]) == 0
        read = "gap.npz: 40 + 8 samples of 6 values as they are, 2 classes (0 = 0, 1 = 500)"
        assert f"note: {read}" in capsys.readouterr().out


def test_a_missing_dataset_names_the_command_that_gets_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty-cache"))
    assert run("run", *FAST, "--dataset", "cifar10", "--model", "cnn", "--out", "here") == 2
    assert "bherd data fetch cifar10" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").write_text("")
    assert run("run", *FAST, "--out", "file/inside") == 2
    assert re.search(r"file/inside", capsys.readouterr().err)
    assert run("run", *FAST, "--out", "file") == 2
    assert "not a folder" in capsys.readouterr().err


def test_an_existing_run_is_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", *FAST, "--out", "here", "--quiet") == 0
    before = {path: path.read_bytes() for path in Path("here").iterdir()}
    assert run("run", *FAST, "--out", "here") == 2
    assert "bherd resume here" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path("here").iterdir()} == before


def test_resume_of_something_else_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty").mkdir()
    assert run("resume", "empty") == 2
    assert "not a run directory" in capsys.readouterr().err
    assert run("resume", "absent") == 2
    assert "absent" in capsys.readouterr().err


def test_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("scaffold", "cnn", "mnist-mini", "dirichlet:BETA"))
    assert run("list", "methods", "--json") == 0
    names = json.loads(capsys.readouterr().out)["methods"]
    assert "random-fednova" in names
    assert "centralized" in names


def test_list_parts_tells_each_with_its_defaults_in_eighty_columns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run("list", "parts") == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    for axis, row in TABLE.items():
        assert f"{axis}: {row.question}\n" in printed
        for name in row.parts:
            assert f"\n  {complete(axis, name)}\n      " in printed
    assert run("list", "parts", "--json") == 0
    assert json.loads(capsys.readouterr().out)["parts"] == {
        axis: list(row.parts) for axis, row in TABLE.items()
    }


@pytest.mark.parametrize("command", ["", "run", "compare", "resume", "list", "data", "demo"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*filter(None, [command]), "--help") == 0
    assert "usage: bherd" in capsys.readouterr().out


def test_version_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert re.match(r"bherd \d", capsys.readouterr().out)
    assert run() == 0
    assert "first steps" in capsys.readouterr().out


def test_the_package_itself_can_be_called() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "bherd", "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert found.stdout.startswith("bherd ")
