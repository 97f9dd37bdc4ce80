"""Runs on a `Task` from Python: recorded as what they are, measured in their own metric, checked."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import bherd
from bherd.cli import main
from bherd.errors import InputError
from bherd.report.listing import list_runs
from bherd.report.payload import make_payload
from bherd.runs.life import resume, run
from bherd.runs.read import read_run
from bherd.session import prepare
from bherd.tasks.models import Model
from bherd.tasks.task import Task
from tests.places import ROOT
from tests.small_runs import contents, stop_after

SIZES = (25, 40, 33)
CONFIG = bherd.Config().replace(method="bherd-fedavg", rounds=4, lr=0.05, batch_size=5, checkpoint_every=1)


def _same(targets: Tensor) -> Tensor:
    return targets


def _loss(outputs: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.mse_loss(outputs.squeeze(1), targets)


def _errors(outputs: Tensor, targets: Tensor) -> Tensor:
    return (outputs.squeeze(1) - targets).abs().sum()


def regression(dtype: torch.dtype = torch.float64, seed: int = 0) -> Task:
    """Three clients; targets around 170, so that the mean error is far from a share of anything."""
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(128, 6, generator=generator, dtype=dtype)
    y = 170 + 9 * x.sum(1)
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 1)).to(dtype)
    rows = np.random.default_rng(seed).permutation(98)
    model = Model("height", module, flat_input=True, encode=_same, loss=_loss, hits=_errors)
    bounds = np.cumsum([0, *SIZES])
    return Task(model, x[:98][rows], y[:98][rows], x[98:], y[98:], rows, bounds, classes=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seeds of a run on the same data, dealt differently."""
    where = tmp_path_factory.mktemp("own")
    for seed in range(2):
        run(prepare(CONFIG.replace(seed=seed), task=regression(seed=seed)), where / f"seed-{seed}")
    return where


def test_the_configuration_tells_the_truth_about_the_task(folder: Path) -> None:
    tables = [tomllib.loads((folder / f"seed-{seed}/config.toml").read_text()) for seed in range(2)]
    name = tables[0]["task"]["dataset"]
    assert name.startswith("own task ")
    assert len(name) == len("own task ") + 16
    assert tables[0]["task"] == {"dataset": name, "model": "height", "partition": "as given", "clients": 3}
    assert tables[0]["run"]["dtype"] == "float64"
    assert tables[1]["task"]["dataset"] == name  # the same data, whoever holds it in which order
    summary = json.loads((folder / "seed-0/summary.json").read_text())
    assert summary["task"]["dataset"] == name
    result = bherd.simulate(CONFIG, task=regression())
    assert (result.config.task.dataset, result.config.task.clients) == ("own task", 3)
    assert result.config.run.dtype == "float64"


def test_other_data_is_another_task(tmp_path: Path, folder: Path) -> None:
    task = regression()
    run(prepare(CONFIG, task=task._replace(y_train=task.y_train + 1)), tmp_path / "run")
    mine, other = (read_run(path).config.task.dataset for path in (folder / "seed-0", tmp_path / "run"))
    assert mine != other


def test_its_metric_is_no_percentage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = list_runs(folder)
    metric = lines[0].accuracy
    assert metric is not None
    assert metric > 1
    assert main(["runs", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert f"{metric:.4g}  " in printed
    assert "own task " in printed
    assert main(["resume", str(folder / "seed-0")]) == 0
    printed += capsys.readouterr().out
    assert f"metric {metric:.4g}" in printed
    assert "%" not in printed
    assert "mnist" not in printed


def test_the_report_shows_no_labels_no_winner_and_no_command(folder: Path) -> None:
    payload = make_payload([read_run(folder / f"seed-{seed}") for seed in range(2)], None)
    (task,) = payload.tasks
    assert task.own
    assert len(task.series[0].runs) == 2
    what, who, why = task.headline
    assert "own task " in what
    assert f"ends at {task.series[0].final_mean:.4g}" in who
    assert "bherd does not know whether more of it is better" in why
    for shown in payload.runs:
        assert shown.command is None
        assert shown.fairness is None
        assert shown.federation.labels is None
        assert shown.federation.sizes == list(SIZES)
        assert "task of its own" in (shown.federation.why_not or "")
    assert "mnist" not in json.dumps([*task.headline, payload.title, payload.notes])


def test_it_is_resumed_with_its_task_and_no_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run(prepare(CONFIG, task=regression()), whole)
    with pytest.raises(KeyboardInterrupt):
        run(prepare(CONFIG, task=regression()), stopped, stop_after(2))
    assert main(["resume", str(stopped)]) == 2
    error = capsys.readouterr().err
    assert "it is a run on own task " in error
    assert "Continue it in Python" in error
    assert len(error.splitlines()) == 1
    task = regression()
    for other in (
        task._replace(x_train=task.x_train + 1),
        regression(seed=1),
        task._replace(bounds=np.array([0, 20, 98])),
    ):
        with pytest.raises(InputError, match=r"not the one that it began with|does not hold the partition"):
            resume(stopped, task=other)
    resume(stopped, task=regression())
    assert contents(stopped) == contents(whole)


def test_a_run_on_a_named_dataset_takes_no_task(tmp_path: Path) -> None:
    config = bherd.Config().replace(rounds=2, checkpoint_every=1)
    with pytest.raises(KeyboardInterrupt):
        run(prepare(config), tmp_path / "run", stop_after(1))
    with pytest.raises(InputError, match=r"a run on mnist-mini\. It needs no task"):
        resume(tmp_path / "run", task=regression())


def test_its_configuration_cannot_be_run_as_something_else(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", "--config", str(folder / "seed-0/config.toml"), "--out", str(tmp_path / "again")]
    assert main(command) == 2
    assert "only the program that made it has its data" in capsys.readouterr().err
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "centralized"}, "method is centralized.*the task has 3 clients"),
        ({"clients": 10, "cohort": 10}, "cohort is 10 clients per round, but there are 3"),
    ],
)
def test_settings_that_the_task_cannot_meet_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare(CONFIG.replace(**changes), task=regression())


def test_dtypes_are_the_tasks() -> None:
    assert prepare(CONFIG, task=regression(torch.float32)).config.run.dtype == "float32"
    assert prepare(CONFIG.replace(dtype="float64"), task=regression()).config.run.dtype == "float64"
    with pytest.raises(InputError, match="dtype is float64, but the task's parameters are float32"):
        prepare(CONFIG.replace(dtype="float64"), task=regression(torch.float32))
    with pytest.raises(InputError, match="parameters are float16"):
        prepare(CONFIG, task=regression(torch.float16))
    with pytest.raises(InputError, match="device is cuda, but the task is on cpu"):
        prepare(CONFIG.replace(device="cuda"), task=regression())


def test_clients_and_cohort_are_counted_by_the_task() -> None:
    session = prepare(CONFIG.replace(clients=50, cohort=2), task=regression())
    assert session.config.task.clients == 3
    result = bherd.simulate(CONFIG.replace(cohort=3), task=regression())
    assert [line["clients"] for line in result.metrics] == [3] * 4


def test_one_place_for_all_data_is_a_task_of_one_client() -> None:
    task = regression()
    whole = task._replace(bounds=np.array([0, len(task.x_train)]))
    result = bherd.simulate(CONFIG.replace(method="centralized"), task=whole)
    assert [line["clients"] for line in result.metrics] == [1] * 4


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("y_train", lambda y: y[:-3], "x_train of the task has 98 samples and y_train has 95"),
        (
            "y_train",
            lambda y: torch.cat([y, y[:3]]),
            "x_train of the task has 98 samples and y_train has 101",
        ),
        ("y_test", lambda y: y[:-1], "x_test of the task has 30 samples and y_test has 29"),
        ("x_train", lambda x: {"x": x}, "x_train of the task is a dict; expected a torch.Tensor"),
        ("x_train", lambda x: x.numpy(), "x_train of the task is a ndarray"),
        ("bounds", lambda b: b[:-1], "bounds of the task are 0 to 65; expected them to begin with 0"),
        ("bounds", lambda b: np.where(b == 65, 25, b), "client 1 of the task holds 0 samples"),
        ("visits", lambda v: v[:-1], "visits of the task has 97 entries"),
        ("visits", lambda v: np.zeros_like(v), "visits of the task has 98 entries, 1 of them different"),
    ],
)
def test_parts_that_do_not_fit_are_named(part: str, change: Any, message: str) -> None:
    task = regression()
    with pytest.raises(InputError, match=message):
        prepare(CONFIG, task=task._replace(**{part: change(getattr(task, part))}))


def test_bytes_have_a_fingerprint_too(tmp_path: Path) -> None:
    """Rows whose length in bytes is no multiple of four."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 9, (60, 5), generator=generator, dtype=torch.uint8)
    y = (x.sum(1) % 2).long()

    class Bag(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.EmbeddingBag(9, 2)

        def forward(self, tokens: Tensor) -> Tensor:
            scores: Tensor = self.table(tokens.long())
            return scores

    def hits(outputs: Tensor, targets: Tensor) -> Tensor:
        return (outputs.argmax(1) == targets).sum()

    model = Model("bag", Bag(), False, _same, nn.functional.cross_entropy, hits)
    task = Task(model, x[:40], y[:40], x[40:], y[40:], np.arange(40), np.array([0, 15, 40]), 2)
    run(prepare(CONFIG.replace(rounds=1, method="fedavg"), task=task), tmp_path / "run")
    assert read_run(tmp_path / "run").config.task.dataset.startswith("own task ")


def _block(page: str, word: str) -> str:
    text = (ROOT / "docs" / page).read_text()
    (found,) = [b for b in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S) if word in b]
    return str(found)


def test_the_page_on_tasks_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    exec(compile(_block("models.md", "task = Task("), "models.md", "exec"), names)
    error = float(capsys.readouterr().out.removeprefix("mean error: "))
    assert error == names["result"].accuracy
    assert 0 < error < 0.5  # it has learnt the sum: at the start the targets are off by 3 and more


def test_the_page_on_datasets_makes_a_task() -> None:
    x, y = np.random.default_rng(0).normal(size=(60, 4)), np.array(["cat", "dog"])[np.arange(60) % 2]
    names: dict[str, Any] = {"x_train": x[:50], "y_train": y[:50], "x_test": x[50:], "y_test": y[50:]}
    exec(compile(_block("datasets.md", "dataset_from_arrays"), "datasets.md", "exec"), names)
    assert names["dataset"].labels == ("cat", "dog")
    assert names["task"].clients == 10
