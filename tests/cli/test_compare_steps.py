"""What `bherd compare` says of orders, of step lengths and of controls."""

import json
import tomllib
from pathlib import Path

import pytest

from bherd.config import Config, MethodConfig
from bherd.controls import controls
from bherd.runs.read import read_run
from bherd.step_length import Step
from bherd.step_notes import Stepper, lengths_differ, step_notes
from tests.command_line import FAST, run

pytestmark = pytest.mark.usefixtures("empty_folder")
COMPARE = (*FAST, "--seeds", "1", "--jobs", "1")
SMALL = ("--clients", "100", "--partition", "case1")
"""Fifty samples each, batches of a hundred: one step per client."""


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("flag", "order", "said"),
    [
        ((), "reshuffled", "a new sample order every epoch"),
        (("--order", "reshuffled"), "reshuffled", "a new sample order every epoch"),
        (("--order", "fixed"), "fixed", "one fixed sample order"),
        (("--order", "herded"), "herded,reversed=false,frozen=0", "samples in herded order"),
    ],
)
def test_all_methods_are_on_one_order_and_the_header_says_which(
    flag: tuple[str, ...], order: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", "fedavg", "bherd-fedavg", *COMPARE, *flag, "--out", "c") == 0
    assert said in printed(capsys).partition("final accuracy")[0]
    configs = [tomllib.loads(path.read_text()) for path in Path("c").glob("*/seed-0/config.toml")]
    assert [config["method"]["order"] for config in configs] == [order] * 2


@pytest.mark.parametrize(("method", "order"), [("fedavg", "reshuffled"), ("bherd-fedavg", "fixed")])
def test_a_method_that_runs_alone_keeps_the_paper_s_order(method: str, order: str) -> None:
    assert run("run", "--method", method, *FAST, "--quiet", "--out", "r") == 0
    assert read_run(Path("r")).config.method.order == order


def test_a_common_step_goes_to_those_that_have_it_and_the_control_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["fedavg", "bherd-fedavg", "--step", "amplified", *COMPARE, "--out", "c"]
    assert run("compare", *arguments) == 0
    text = printed(capsys)
    assert "fedavg amplified" not in text
    assert "│ fedavg │ 1.00× │" in text
    assert "│ bherd-fedavg alpha=0.5 amplified │ 2.00× │" in text
    assert (
        "step = amplified does not apply to fedavg; the control at the same length is fedavg,server_lr=2."
        in text
    )
    assert (
        "The step of bherd-fedavg alpha=0.5 amplified is 2.0 times FedAvg's. What tells a better choice from "
        "a longer step is not here: fedavg,server_lr=2 and random-fedavg,alpha=0.5,step=amplified" in text
    )
    assert {path.name for path in Path("c").iterdir() if path.is_dir()} == {
        "fedavg",
        "bherd-fedavg_alpha0.5_amplified",
    }


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["fedavg", "scaffold", "--step", "amplified"], "step = amplified: none of fedavg, scaffold has it"),
        (["grab-fedavg", "--alpha", "0.3"], "alpha = 0.3: none of grab-fedavg has it"),
        (["fedavg,step=amplified", "bherd-fedavg"], "use server_lr = E/alpha"),
        (["fedavg,alpha=0.5", "bherd-fedavg"], "fedavg ignores it"),
    ],
)
def test_a_setting_that_no_method_has_is_refused(
    arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compare", *arguments, *COMPARE) == 2
    assert expected in capsys.readouterr().err
    assert not Path("runs").exists()


def test_a_file_s_method_does_not_stand_in_the_way_of_a_comparison() -> None:
    Path("c.toml").write_text('[method]\nname = "fedavg"\n')
    assert run("compare", "bherd-fedavg", "--config", "c.toml", "--alpha", "0.3", *COMPARE, "--quiet") == 0
    assert read_run(Path("runs/compare/bherd-fedavg_alpha0.3/seed-0")).config.method.alpha == 0.3


def test_another_method_by_flag_leaves_the_file_s_settings_behind() -> None:
    Path("c.toml").write_text('[method]\nname = "bherd-fedavg"\nalpha = 0.3\n')
    assert run("run", "--config", "c.toml", "--method", "fedavg", *FAST, "--quiet", "--out", "r") == 0
    assert read_run(Path("r")).config.method == MethodConfig("fedavg")


def test_clients_that_keep_everything_are_told_of_in_table_and_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    methods = ["fedavg", "bherd-fedavg", "random-fedavg", "fedavg,server_lr=2"]
    assert run("compare", *methods, *COMPARE, *SMALL, "--out", "c") == 0
    told = "at alpha = 0.5 these clients keep 100% of their steps: the step is 2.0 times FedAvg's"
    text = printed(capsys)
    assert f"bherd-fedavg alpha=0.5, random-fedavg alpha=0.5: {told}." in text
    assert text.count("2.00× │") == 3
    assert told in Path("c/report.html").read_text()


def test_controls_are_added_once_each(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["fedavg", "bherd-fedavg,step=amplified", "--controls", *COMPARE, "--json"]
    assert run("compare", *arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["method"], round(row["step"]["length"], 3)) for row in found["methods"]] == [
        ("fedavg", 1.0),
        ("bherd-fedavg alpha=0.5 amplified", 2.0),
        ("bherd-fedavg alpha=0.5 matched", 1.0),
        ("fedavg server_lr=2", 2.0),
        ("random-fedavg alpha=0.5 amplified", 2.0),
    ]
    assert not [sentence for sentence in found["notes"] if "is not here" in sentence]


def names_of(configs: list[Config]) -> list[MethodConfig]:
    return [config.method for config in configs]


def test_the_controls_of_small_clients_have_their_real_length() -> None:
    """One step each: the equation's step is 1/alpha long, and so is its control without selection."""
    base = Config().replace(clients=100, partition="case1", order="reshuffled")
    assert names_of(controls([base.replace(alpha=0.25)], range(2)).added) == [
        MethodConfig("bherd-fedavg,alpha=0.25,step=matched,order=reshuffled"),
        MethodConfig("fedavg"),
        MethodConfig("fedavg,server_lr=4"),
        MethodConfig("random-fedavg,alpha=0.25,order=reshuffled"),
    ]


def test_controls_have_every_other_part_of_their_method() -> None:
    method = "bherd-fedprox,step=amplified,mu=0.1,order=herded,participation=shuffled,optimizer.clip=1"
    rest = "mu=0.1,order=herded,participation=shuffled,optimizer.clip=1"
    assert names_of(controls([Config().replace(method=method)], range(1)).added) == [
        MethodConfig(f"bherd-fedprox,step=matched,{rest}"),
        MethodConfig(f"fedprox,{rest}"),
        MethodConfig(f"fedprox,server_lr=2,{rest}"),
        MethodConfig(f"random-fedprox,step=amplified,{rest}"),
    ]


def test_a_rate_of_adam_is_no_control_of_a_longer_step() -> None:
    """Under momentum twice the rate is twice the step; under Adam it is not."""
    longer = Config().replace(method="bherd-fedavgm,step=amplified,order=reshuffled,server_lr=0.1")
    assert MethodConfig("fedavgm,server_lr=0.2") in names_of(controls([longer], range(1)).added)
    adaptive = Config().replace(method="bherd-fedadam,step=amplified,order=reshuffled")
    found = controls([adaptive], range(1))
    assert names_of(found.added) == [
        MethodConfig("bherd-fedadam,step=matched,order=reshuffled"),
        MethodConfig("fedadam"),
        MethodConfig("random-fedadam,step=amplified,order=reshuffled"),
    ]
    assert names_of(found.unknown) == [adaptive.method]
    (said,) = step_notes([stepper("bherd-fedadam", 2.0), stepper("fedadam", 1.0)])
    assert "not here: random-fedadam,alpha=0.5 (" in said


def test_grab_has_controls_as_far_as_they_are_known() -> None:
    found = controls([Config().replace(name="grab-scaffold", step="amplified")], range(1))
    assert names_of(found.added) == [
        MethodConfig("grab-scaffold", step="matched"),
        MethodConfig("scaffold", order="fixed"),
    ]
    assert names_of(found.unknown) == [MethodConfig("grab-scaffold", step="amplified")]
    assert controls([Config().replace(name="fedavg")], range(1)) == ([], [])


def stepper(name: str, length: float, **settings: object) -> Stepper:
    method = Config().replace(name=name, **settings).method
    return Stepper(name, method, Step(method.alpha or 1.0, method.alpha, length))


def test_which_controls_are_missing() -> None:
    herd, plain = stepper("bherd-fedavg", 2.0), stepper("fedavg", 1.0)
    longer, random = stepper("fedavg", 2.0, server_lr=2.0), stepper("random-fedavg", 2.0)
    assert step_notes([plain, stepper("bherd-fedavg", 1.0)]) == []
    assert step_notes([plain, herd, longer, random]) == []
    assert "not here: random-fedavg,alpha=0.5 (" in step_notes([herd, longer])[0]
    assert "not here: fedavg,server_lr=2 (" in step_notes([herd, random, plain])[0]
    other = stepper("random-fedavg", 2.0, alpha=0.3)
    assert "random-fedavg,alpha=0.5" in step_notes([herd, longer, other])[0]
    assert "scaffold,server_lr=2" in step_notes([stepper("bherd-scaffold", 2.0), longer])[0]


def test_equal_lengths_need_no_column() -> None:
    assert not lengths_differ([Step(1.0, None, 1.0), None, Step(0.5, 0.5, 1.004)])
    assert lengths_differ([Step(1.0, None, 1.0), Step(0.5, 0.5, 1.1)])


def test_another_comparison_gets_another_folder_and_the_same_goes_on() -> None:
    first = ("compare", "fedavg", "bherd-fedavg", *COMPARE, "--quiet")
    assert run(*first) == 0
    stamps = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("model.safetensors")}
    assert run(*first) == 0
    assert {path: path.stat().st_mtime_ns for path in Path("runs").rglob("model.safetensors")} == stamps
    assert run(*first, "--batch-size", "50") == 0
    assert run("compare", "scaffold", *COMPARE, "--quiet") == 0
    assert sorted(path.name for path in Path("runs").iterdir()) == ["compare", "compare-2", "compare-3"]
    assert run("compare", "fedavg", "bherd-fedavg", *FAST, "--seeds", "2", "--jobs", "1", "--quiet") == 0
    assert len(list(Path("runs/compare").glob("*/seed-1"))) == 2
