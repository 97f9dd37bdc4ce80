"""One clear line for every bad input, and nothing is left behind."""

import re
from pathlib import Path

import pytest

from tests.command_line import run

pytestmark = pytest.mark.usefixtures("empty_folder")


BAD_INPUTS: list[tuple[list[object], str]] = [
    (["--alpha", "0"], r"alpha = 0\.0.*\(0, 1\]"),
    (["--alpha", "1.5"], r"alpha = 1\.5.*\(0, 1\]"),
    (["--alpha", "nan"], r"alpha = nan"),
    (["--alpha", "half"], r"alpha = 'half': must be a number, or a schedule such as"),
    (["--alpha", "linear:0.3"], r"alpha = 'linear:0\.3': a schedule is written linear:START:END:ROUNDS"),
    (["--method", "fedavg", "--alpha", "0.3"], r"fedavg ignores it, since it keeps every gradient"),
    (["--selector", "herdin"], r"'herdin' is not known; did you mean 'herding'"),
    (["--selector", "herding,alpha=2"], r"alpha = 2\.0.*\(0, 1\]. Try 0\.5"),
    (["--selector", ""], r"known are everything, herding, .*matching\. Your own part is package"),
    (["--selector", "nowhere.at:all"], r"selector = 'nowhere\.at:all': it cannot be imported"),
    (["--selector", "os:getcwd"], r"gives a str, but a frozen dataclass .* is expected"),
    (["--server", "adam,rate=1"], r"adam has no parameter 'rate'; known are lr, beta1, beta2, tau"),
    (
        ["--method", "feddyn", "--transform", "top-k"],
        r"transform = top-k,.* with correction = dynamic.*Change",
    ),
    (["--method", "scaffold", "--transform", "gaussian"], r"in the clear beside the update that is hidden"),
    (["--participation", "listed,clients=9"], r"must list clients from 0 to 4"),
    (["--transform", "sign-flip,clients=1+9"], r"must list clients from 0 to 4"),
    (["--participation", "0.1"], r"How many is another setting: cohort = 0\.1"),
    (["--order", "reshufled"], r"did you mean 'reshuffled'"),
    (["--mu", "0.1"], r"its correction is none, which has no parameters"),
    (["--method", "bherd-fedavgg"], r"'bherd-fedavgg'.*did you mean 'bherd-fedavg'"),
    (["--step", "equatoin"], r"step is 'equatoin'.*equation, amplified"),
    (["--clients", "0"], r"clients is 0.*at least 1"),
    (["--clients", "5001", "--partition", "case1"], r"5001.*5000"),
    (["--batch-size", "0"], r"batch_size is 0"),
    (["--lr", "nan"], r"lr is nan"),
    (["--lr", "-1"], r"lr is -1"),
    (["--server-lr", "inf"], r"lr = inf: must be a positive number"),
    (["--rounds", "0"], r"rounds is 0"),
    (["--epochs", "0"], r"epochs is 0"),
    (["--cohort", "6"], r"cohort is 6 clients.*there are 5"),
    (["--cohort", "1.5"], r"cohort is 1\.5"),
    (["--cohort", "some"], r"--cohort: 'some' is neither a number, 10, nor a share, 0\.1"),
    (["--seed", "-1"], r"seed is -1"),
    (["--dataset", "mnsit-mini"], r"mnsit-mini.*mnist-mini"),
    (["--dataset", "absent.npz"], r"absent\.npz"),
    (["--model", "smv"], r"'smv'"),
    (["--model", "nowhere.at:all"], r"nowhere"),
    (["--partition", "case4"], r"case4"),
    (["--partition", "dirichlet:-1"], r"-1"),
    (["--device", "quantum"], r"quantum"),
    (["--dtype", "float16"], r"float16.*float32, float64"),
    (["--engine", "warp"], r"warp.*simulate, reference"),
    (["--set", "train.ratee=1"], r"'ratee'"),
    (["--set", "rounds"], r"TABLE\.KEY=VALUE"),
    (["--set", "trian.lr=1"], r"\[trian\].*did you mean 'train'"),
    (["--config", "absent.toml"], r"absent\.toml cannot be read"),
    (["--roundz", "3"], r"--roundz"),
]


@pytest.mark.parametrize(("arguments", "expected"), BAD_INPUTS, ids=lambda value: " ".join(map(str, value)))
def test_bad_input_is_one_clear_line_and_leaves_nothing(
    arguments: list[object], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("run", *arguments, "--out", "here") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert re.search(expected, captured.err), captured.err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[train]\nrouns = 3\n", r"\[train\] has no setting 'rouns'; did you mean 'rounds'"),
        ("[trian]\nrounds = 3\n", r"unknown table \[trian\]; did you mean 'train'"),
        ("[train]\nrounds = '3'\n", r"train\.rounds is '3', but a whole number is expected"),
        ("[train\nrounds = 3\n", r"c\.toml is not valid TOML"),
        ("train = 3\n", r"'train' must be a table"),
    ],
)
def test_toml_mistakes_are_explained(text: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.toml").write_text(text)
    assert run("run", "--config", "c.toml", "--out", "here") == 2
    assert re.search(expected, capsys.readouterr().err)
    assert not Path("here").exists()
