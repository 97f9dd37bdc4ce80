"""Flags, help and lists are made from the fields of the configuration and from the package's own tables."""

import json

import pytest

from bherd.cli import build_parser
from bherd.cli.options import config_from
from bherd.config import Config, all_settings, find_setting
from bherd.config_tables import AS_THE_METHOD
from bherd.method_texts import SHORTHANDS
from bherd.parts.presets import PRESETS
from bherd.parts.table import TABLE
from bherd.settings import Setting
from tests.command_line import run


def _flag(one: Setting) -> str:
    """As help shows it: '--lr ETA', '--ledger, --no-ledger'."""
    switch = isinstance(one.default, bool)
    return f"--{one.option}, --no-{one.option}" if switch else f"--{one.option} {one.metavar}"


def test_the_lists_are_those_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    from bherd.tasks.datasets import DATASET_NAMES
    from bherd.tasks.models import MODELS
    from bherd.tasks.schemes import SCHEMES

    assert run("list", "--json") == 0
    named = json.loads(capsys.readouterr().out)
    assert named["datasets"] == [*DATASET_NAMES, "PATH.npz"]
    assert {*named["models"]} == {*MODELS, "package.module:factory"}
    assert [name.partition(":")[0] for name in named["partitions"]] == [*SCHEMES]
    assert named["methods"] == [*PRESETS]
    assert named["parts"] == {axis: [*row.parts] for axis, row in TABLE.items()}
    assert named["settings"] == [one.path for one in all_settings()]
    assert all(name in find_setting("model").help for name in MODELS)
    assert all(name in find_setting("partition").help for name in SCHEMES)


@pytest.mark.parametrize("command", [["run"], ["federation", "up"], ["compare"]])
def test_help_shows_every_setting_with_the_default_that_it_has(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")  # no flag is broken at its hyphen
    assert run(*command, "--help") == 0
    printed = " ".join(capsys.readouterr().out.split())
    for one in all_settings():
        if command == ["compare"] and one.name in ("name", "seed"):
            continue
        usual = "" if one.usual == AS_THE_METHOD else f" [{one.usual}]"
        assert f"{_flag(one)} {one.help}{usual}" in printed, one.path
        default = getattr(getattr(Config(), one.table), one.name)
        if one.table != "method" and default is not None:
            assert one.usual.partition(", ")[0] == str(default).lower()
    for key in SHORTHANDS:
        assert f"--{key.replace('_', '-')} NUMBER the " in printed
    for axis, row in TABLE.items():
        assert f"--{axis} PART {row.question}: {', '.join(row.parts)}" in printed


def test_every_setting_can_be_given_by_its_flag() -> None:
    given: dict[str, object] = {
        **{"name": "bherd-scaffold", "participation": "shuffled", "order": "grab,frozen=2"},
        **{"optimizer": "sgd,clip=1", "correction": "proximal,mu=0.2", "selector": "random,alpha=0.2"},
        **{"transform": "clip,norm=2", "aggregation": "median", "server": "yogi", "shipped": "running-mean"},
        **{"step": "amplified"},
        **{"dataset": "mnist", "data_dir": "d", "model": "cnn", "partition": "case1", "clients": 7},
        **{"rounds": 3, "epochs": 0.5, "batch_size": 9, "lr": 0.25, "cohort": 2},
        **{"seed": 4, "engine": "reference", "dtype": "float64", "device": "cuda", "workers": 2},
        **{"eval_every": 2, "eval_train": False, "checkpoint_every": 5, "snapshot_every": 6},
        **{"ledger": False, "store": "disk", "memory": "2GB"},
    }
    assert list(given) == [one.name for one in all_settings()]
    words = ["run"]
    for name, value in given.items():
        option = find_setting(name).option
        words += (
            [f"--{option}" if value else f"--no-{option}"]
            if isinstance(value, bool)
            else [f"--{option}", str(value)]
        )
    assert config_from(build_parser().parse_args(words)) == Config().replace(**given)
    short = {"alpha": "0.3", "mu": "0.1", "server_lr": "linear:2:1:9"}
    words = ["run", "--method", "bherd-fedprox", "--model", "svm"]
    words += [word for key, value in short.items() for word in (f"--{key.replace('_', '-')}", value)]
    wanted = Config().replace(method="bherd-fedprox,alpha=0.3,mu=0.1,server_lr=linear:2:1:9", model="svm")
    assert config_from(build_parser().parse_args(words)) == wanted
