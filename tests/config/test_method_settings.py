"""A setting that has no effect on a method is neither taken nor shown."""

import json
import tomllib
from pathlib import Path

import pytest

from bherd import methods
from bherd.config import Config, MethodConfig, difference, from_dict, to_dict
from bherd.errors import InputError
from bherd.labels import describe, folder_name, method_label
from bherd.many.compare import parse_variant
from bherd.method_settings import settings_of
from bherd.names import METHOD_NAMES
from bherd.report.command import command
from tests.command_line import FAST, run

IGNORED = [(name, one) for name in METHOD_NAMES for one in ("alpha", "step") if one not in settings_of(name)]


def test_which_methods_have_which_settings() -> None:
    """GraB measures its share; what keeps every gradient has neither a share nor a choice of steps."""
    assert {name for name in METHOD_NAMES if "alpha" in settings_of(name)} == {
        f"{selector}-{base}"
        for selector in ("bherd", "random", "reversed")
        for base in ("fedavg", "fednova", "scaffold")
    }
    assert {name for name in METHOD_NAMES if "step" not in settings_of(name)} == {
        "fedavg",
        "fednova",
        "scaffold",
        "centralized",
    }


@pytest.mark.parametrize(("name", "setting"), IGNORED)
def test_a_setting_without_effect_is_refused_everywhere(name: str, setting: str) -> None:
    value: dict[str, object] = {setting: 0.3 if setting == "alpha" else "amplified"}
    said = []
    for way in (
        lambda: MethodConfig(name, **value),  # type: ignore[arg-type]
        lambda: Config().replace(name=name, **value),
        lambda: from_dict({"method": {"name": name, **value}}),
        lambda: methods.by_name(name, **value),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError) as caught:
            way()
        said.append(str(caught.value))
    assert len(set(said)) == 1
    assert f"{name} ignores it" in said[0]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"name": "fedavg", "step": "amplified"},
            "step = amplified: fedavg ignores it, since it keeps every gradient. For the same length use "
            "server_lr = E/alpha: with E = 1 and alpha = 0.5 that is --server-lr 2, in a comparison "
            "fedavg:server_lr=2.",
        ),
        ({"name": "scaffold", "step": "amplified", "alpha": 0.25}, "in a comparison scaffold:server_lr=4."),
        ({"name": "fedavg", "step": "matched"}, "since it keeps every gradient. Leave it out."),
        (
            {"name": "fednova", "alpha": 0.3},
            "alpha = 0.3: fednova ignores it, since it keeps every gradient. Leave it out, or choose "
            "bherd-fednova or random-fednova.",
        ),
        (
            {"name": "grab-fedavg", "alpha": 0.3},
            "alpha = 0.3: grab-fedavg ignores it, since it measures a share of its own. Leave it out, or "
            "choose bherd-fedavg or random-fedavg.",
        ),
        ({"name": "centralized", "alpha": 0.3}, "since it keeps every gradient. Leave it out."),
    ],
)
def test_the_refusal_says_what_to_do(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        from_dict({"method": settings})
    assert str(caught.value).endswith(expected)


@pytest.mark.parametrize("name", METHOD_NAMES)
def test_what_a_method_has_is_filled_in_and_the_rest_is_none(name: str) -> None:
    method = Config().replace(name=name).method
    assert method.alpha == (0.5 if "alpha" in settings_of(name) else None)
    assert method.step == ("equation" if "step" in settings_of(name) else None)
    assert MethodConfig(name) == method
    assert from_dict(to_dict(Config(method))) == Config(method)
    assert difference(Config(method), Config(MethodConfig(name))) is None


def test_another_method_leaves_behind_what_it_does_not_have() -> None:
    herding = Config().replace(alpha=0.3, step="amplified")
    plain = herding.replace(name="fedavg")
    assert (plain.method.alpha, plain.method.step) == (None, None)
    assert plain.replace(name="bherd-scaffold").method == MethodConfig("bherd-scaffold", 0.5, "equation")
    assert herding.replace(name="grab-fedavg").method == MethodConfig("grab-fedavg", step="amplified")
    assert herding.replace(name="random-fedavg").method == MethodConfig("random-fedavg", 0.3, "amplified")


def test_a_comparison_s_common_settings_go_to_the_methods_that_have_them() -> None:
    base = Config().replace(alpha=0.3, step="amplified", server_lr=1.5)
    found = [parse_variant(text, base).method for text in ("fedavg", "grab-fedavg", "bherd-fedavg")]
    assert found == [
        MethodConfig("fedavg", server_lr=1.5),
        MethodConfig("grab-fedavg", step="amplified", server_lr=1.5),
        MethodConfig("bherd-fedavg", 0.3, "amplified", 1.5),
    ]
    for text in ("fedavg:step=amplified", "grab-fedavg:alpha=0.3"):
        with pytest.raises(InputError, match="ignores it"):
            parse_variant(text, base)


@pytest.mark.parametrize("name", ["fedavg", "grab-fednova"])
def test_no_label_folder_or_command_shows_a_setting_without_effect(name: str) -> None:
    config = Config().replace(alpha=0.3, step="equation", model="svm").replace(name=name)
    shown = [method_label(config), folder_name(config), describe(config), command(config) or ""]
    assert not [text for text in shown if "alpha" in text or "None" in text or "equation" in text]


@pytest.mark.usefixtures("empty_folder")
def test_a_run_directory_carries_no_setting_without_effect() -> None:
    assert run("run", "--method", "fedavg", *FAST, "--out", "r", "--quiet") == 0
    written = tomllib.loads(Path("r/config.toml").read_text())["method"]
    assert written == {"name": "fedavg", "server_lr": 1.0}
    assert json.loads(Path("r/summary.json").read_text())["method"] == written


@pytest.mark.usefixtures("empty_folder")
@pytest.mark.parametrize("flag", [("--step", "amplified"), ("--alpha", "0.3"), ("--alpha", "0.5")])
def test_run_refuses_a_flag_without_effect(flag: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "--method", "fedavg", *flag, *FAST) == 2
    assert "fedavg ignores it" in capsys.readouterr().err
    assert not Path("runs").exists()
