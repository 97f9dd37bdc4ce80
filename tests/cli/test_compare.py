"""`bherd compare` and `bherd demo` as a user meets them."""

import json
from pathlib import Path

import pytest

from bherd.errors import InputError
from bherd.many.jobs import Job, run_job
from tests.command_line import FAST, run
from tests.small_runs import small_config

METHODS_OF_THE_DEMO = (
    "fedavg",
    "bherd-fedavg alpha=0.5",
    "bherd-fedavg alpha=0.5 amplified",
    "fedavg server_lr=2",
    "random-fedavg alpha=0.5 amplified",
)
pytestmark = pytest.mark.usefixtures("empty_folder")


def test_compare_prints_a_table_with_intervals(capsys: pytest.CaptureFixture[str]) -> None:
    methods = ["fedavg", "bherd-fedavg,alpha=0.3,step=amplified"]
    arguments = ["compare", *methods, *FAST, "--seeds", "2", "--jobs", "1", "--out", "c"]
    assert run(*arguments) == 0
    printed = capsys.readouterr().out
    assert "bherd-fedavg alpha=0.3 amplified" in printed
    assert "±" in printed
    assert "c/comparison.png" in printed
    assert Path("c/comparison.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(str(p.relative_to("c")) for p in Path("c").glob("*/seed-*")) == [
        "bherd-fedavg_alpha0.3_amplified/seed-0",
        "bherd-fedavg_alpha0.3_amplified/seed-1",
        "fedavg/seed-0",
        "fedavg/seed-1",
    ]


def test_compare_as_json_and_again_costs_no_new_run(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "fedavg", "scaffold", *FAST, "--seeds", "2", "--jobs", "1", "--json"]
    assert run(*arguments, "--target", "0.5") == 0
    first = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in first["methods"]] == ["fedavg", "scaffold"]
    assert first["methods"][0]["final_accuracy"]["samples"] == 2
    stamps = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("model.safetensors")}
    assert run(*arguments, "--target", "0.5") == 0
    assert json.loads(capsys.readouterr().out) == first
    assert {path: path.stat().st_mtime_ns for path in Path("runs").rglob("model.safetensors")} == stamps


def test_compare_refuses_a_folder_with_other_settings(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "fedavg", *FAST, "--seeds", "1", "--jobs", "1", "--out", "c", "--quiet"]
    assert run(*arguments) == 0
    assert run(*arguments, "--batch-size", "50") == 2
    assert "train.batch_size is 50 here and 100 there" in capsys.readouterr().err


def test_a_run_in_another_sample_order_is_another_run(tmp_path: Path) -> None:
    """An order that is left to the method is compared as what the method makes of it."""
    config = small_config(tmp_path, "random-fedavg")
    assert run_job(Job(config.replace(order="reshuffled"), tmp_path / "run"))["status"] == "complete"
    with pytest.raises(InputError, match=r"method\.order is 'fixed' here and 'reshuffled' there"):
        run_job(Job(config, tmp_path / "run"))
    assert run_job(Job(config.replace(order="reshuffled"), tmp_path / "run"))["status"] == "complete"


def test_compare_tells_shares_apart_to_the_last_digit(capsys: pytest.CaptureFixture[str]) -> None:
    methods = ["random-fedavg,alpha=0.1234567", "random-fedavg,alpha=0.1234568"]
    assert run("compare", *methods, *FAST, "--seeds", "1", "--jobs", "1", "--out", "c", "--json") == 0
    shown = json.loads(capsys.readouterr().out)["methods"]
    assert [row["method"] for row in shown] == [text.replace(",", " ") for text in methods]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["fedavg", "fedavg"], "given twice"),
        (["fedavg,beta=1"], "method 'fedavg,beta=1': 'beta' is not known; known are participation"),
        (["fedavg,server_lr=x"], "lr = 'x': must be a number, or a schedule"),
        (["bherd-fedavg,alpha=2"], "alpha = 2.0: the share of gradients to keep must be in (0, 1]"),
        (["fedavg:server_lr=2"], "follows a comma: fedavg,server_lr=2."),
        (
            ["fedavg", "fedadam", "--server", "adma"],
            "server = 'adma': 'adma' is not known; did you mean 'adam'",
        ),
        (["fedavg", "fedadam", "--server", "yogi"], "given twice: fedyogi."),
        (["fedavg", "scaffold", "--optimizer", "sgd,momentum=0.9"], "correction = control-variates: "),
        (["fedavg", "fedavg,selector=nowhere.at:all"], "selector = 'nowhere.at:all': it cannot be imported"),
        (["fedavgg"], "did you mean 'fedavg'"),
        (["fedavg", "--seeds", "0"], "--seeds is 0"),
        (["fedavg", "--target", "80"], "--target is 80"),
    ],
)
def test_compare_explains_bad_input(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", *arguments, *FAST) == 2
    captured = capsys.readouterr()
    assert expected in captured.err
    assert (captured.out, len(captured.err.splitlines())) == ("", 1)
    assert not Path("runs").exists()


def test_methods_of_any_parts_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    methods = [
        "fedavg",
        "fedprox,mu=0.1",
        "fedadam,server.lr=0.01",
        "bherd-krum,order=grab,shipped=running-mean",
    ]
    assert run("compare", *methods, *FAST, "--seeds", "1", "--jobs", "1", "--out", "c", "--json") == 0
    assert [row["method"] for row in json.loads(capsys.readouterr().out)["methods"]] == [
        "fedavg",
        "fedprox mu=0.1",
        "fedadam server_lr=0.01",
        "bherd-krum alpha=0.5 shipped=running-mean order=grab",
    ]
    assert len(list(Path("c").glob("*/seed-0"))) == 4


def test_demo_ends_with_a_table_a_sentence_and_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("demo", "--rounds", "3", "--seeds", "2", "--out", "d") == 0
    printed = capsys.readouterr().out
    assert "fedavg server_lr=2" in printed
    said = " ".join(printed.split())
    assert "fewer than 3 seeds decide nothing." in said
    assert "comes from" not in said
    assert all(said.count(label) >= 2 for label in METHODS_OF_THE_DEMO)
    assert Path("d/comparison.png").exists()
    assert printed.rstrip().endswith("report:  d/report.html")
    assert "<html" in Path("d/report.html").read_text()


def test_what_a_longer_step_gained_is_said_from_the_runs_own_step_lengths(
    capsys: pytest.CaptureFixture[str],
) -> None:
    methods = ["fedavg", "bherd-fedavg,step=amplified", "fedavg,server_lr=2"]
    assert run("compare", *methods, *FAST, "--seeds", "3", "--jobs", "1", "--order", "fixed", "--json") == 0
    (said,) = (
        line
        for line in json.loads(capsys.readouterr().out)["conclusion"]
        if "bherd" in line and "step" in line
    )
    assert said.startswith("With a step 2 times as long, ")
