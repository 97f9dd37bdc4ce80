"""Which runs are one series of the report, and the command that makes a run again."""

from pathlib import Path

import pytest

from bherd.report.command import command
from bherd.report.find import runs_at
from bherd.report.payload import Payload, make_payload
from bherd.runs.read import read_run
from tests.report_runs import BASE, made_up_run


def payload_of(*paths: Path) -> Payload:
    return make_payload([read_run(path) for path in runs_at(paths)], None)


def test_repeated_runs_are_noted(tmp_path: Path) -> None:
    made_up_run(tmp_path / "a", BASE, rounds=3, steps=4)
    made_up_run(tmp_path / "b", BASE, rounds=3, steps=4)
    shown = payload_of(tmp_path)
    assert shown.tasks[0].series[0].runs == [0]
    assert any("same method, task and seed: b." in note for note in shown.notes)


@pytest.mark.parametrize(
    ("first", "second", "labels"),
    [
        (
            {"alpha": 0.1234567},
            {"alpha": 0.1234568},
            ["bherd-fedavg alpha=0.1234567", "bherd-fedavg alpha=0.1234568"],
        ),
        ({"lr": 0.1234567}, {"lr": 0.1234568}, ["lr=0.1234567", "lr=0.1234568"]),
        ({"cohort": 1}, {"cohort": 1.0}, ["cohort=1", "cohort=1.0"]),
        (
            {"order": "fixed"},
            {"order": "grab,frozen=3"},
            ["bherd-fedavg alpha=0.5 order=fixed", "bherd-fedavg alpha=0.5 order=grab order.frozen=3"],
        ),
        (
            {"participation": "shuffled"},
            {"server": "adam,lr=0.01"},
            ["bherd-fedavg alpha=0.5 participation=shuffled", "bherd-fedadam alpha=0.5 server_lr=0.01"],
        ),
        ({"engine": "simulate"}, {"engine": "reference"}, ["engine=simulate", "engine=reference"]),
        ({"store": "auto"}, {"store": "sketch"}, ["store=auto", "store=sketch"]),
    ],
)
def test_runs_that_differ_in_what_decides_are_series_of_their_own(
    first: dict[str, object], second: dict[str, object], labels: list[str], tmp_path: Path
) -> None:
    for name, changes in (("a", first), ("b", second)):
        made_up_run(tmp_path / name, BASE.replace(**changes), rounds=3, steps=4)
    shown = payload_of(tmp_path)
    assert [one.label.rpartition(", ")[2] for one in shown.tasks[0].series] == labels
    assert not any("same method, task and seed" in note for note in shown.notes)


def test_the_command_tells_one_client_from_everybody() -> None:
    assert "--cohort 1 " in str(command(BASE.replace(cohort=1)))
    assert "--cohort" not in str(command(BASE.replace(cohort=1.0)))


@pytest.mark.parametrize(
    "parts",
    [
        {"order": "reshuffled"},
        {"order": "fixed"},
        {"order": "herded,frozen=2", "participation": "listed,clients=0+3"},
        {"server": "adam,lr=0.01,tau=1e-05", "shipped": "mean-of-last,k=3"},
        {"alpha": "linear:0.3:1.0:50", "optimizer": "sgd,weight_decay=0.1"},
    ],
)
def test_the_command_makes_the_same_configuration(parts: dict[str, object]) -> None:
    from bherd.cli import build_parser
    from bherd.cli.options import config_from

    config = BASE.replace(
        name="bherd-scaffold",
        model="svm",
        step="amplified",
        **{"alpha": 0.3, **parts},
        cohort=3,
        partition="dirichlet:0.3",
        seed=9,
        eval_train=False,
        data_dir="my data; rm",
        dtype="float64",
    )
    import shlex

    words = shlex.split(command(config))
    assert words[:2] == ["bherd", "run"]
    assert config_from(build_parser().parse_args(words[1:])).replace(workers=1) == config
