"""A setting that has no effect on a method is neither taken nor shown."""

import json
import tomllib
from pathlib import Path

import pytest

from bherd import methods
from bherd.config import Config, MethodConfig, difference, from_dict, to_dict
from bherd.config_tables import method_config
from bherd.errors import InputError
from bherd.labels import as_argument, describe, folder_name, method_label
from bherd.many.compare import has_setting, parse_variant
from bherd.parts.presets import BASES, PRESETS
from bherd.report.command import command
from tests.command_line import FAST, run

SETTINGS = ("alpha", "mu", "server_lr", "step")


def settings_of(name: str) -> list[str]:
    """The shorthands that a method has, and its step."""
    return [one for one in SETTINGS if has_setting(MethodConfig(name), one)]


IGNORED = [(name, one) for name in PRESETS for one in SETTINGS if one not in settings_of(name)]


def test_which_methods_have_which_settings() -> None:
    """GraB measures its share; what keeps every gradient has neither a share nor a choice of steps."""
    assert {name for name in PRESETS if "alpha" in settings_of(name)} == {
        f"{selector}-{base}" for selector in ("bherd", "random", "reversed") for base in BASES
    }
    assert {name for name in PRESETS if "step" not in settings_of(name)} == {*BASES, "centralized"}
    assert {name for name in BASES if "mu" in settings_of(name)} == {"fedprox", "feddyn"}
    assert {name for name in PRESETS if "server_lr" not in settings_of(name)} == set()


@pytest.mark.parametrize(("name", "setting"), IGNORED)
def test_a_setting_without_effect_is_refused_everywhere(name: str, setting: str) -> None:
    value: dict[str, str | float | None] = {setting: "amplified" if setting == "step" else 0.3}
    said = []
    for way in (
        lambda: MethodConfig(f"{name},{setting}={value[setting]}"),
        lambda: Config().replace(name=name, **value),
        lambda: from_dict({"method": {"name": name, **value}}),
        lambda: methods.named(name, **value),
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
            "fedavg,server_lr=2.",
        ),
        ({"name": "scaffold", "step": "amplified"}, "in a comparison scaffold,server_lr=2."),
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
        (
            {"name": "fedavg", "mu": 0.1},
            "mu = 0.1: fedavg ignores it, since its correction is none, which has no parameters. Leave it "
            "out.",
        ),
        (
            {"name": "fedavg,server=adam,server.rate=2"},
            "server.rate = 2: fedavg ignores it, since its server is adam, which has only lr, beta1, beta2, "
            "tau. Leave it out.",
        ),
        (
            {"name": "fedavg,order.reversed=true"},
            "since its order is reshuffled, which has no parameters. Leave it out.",
        ),
    ],
)
def test_the_refusal_says_what_to_do(settings: dict[str, object], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        from_dict({"method": settings})
    assert str(caught.value).endswith(expected)


@pytest.mark.parametrize("name", PRESETS)
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
    assert plain.replace(name="bherd-scaffold").method == MethodConfig("bherd-scaffold,alpha=0.5")
    assert herding.replace(name="grab-fedavg").method == MethodConfig("grab-fedavg", step="amplified")
    assert herding.replace(name="random-fedavg").method == MethodConfig(
        "random-fedavg,alpha=0.3,step=amplified"
    )
    sgd = plain.replace(optimizer="sgd,momentum=0.5", server_lr=2)
    assert sgd.replace(name="fedprox").method == MethodConfig("fedprox,optimizer.momentum=0.5,server.lr=2")


def test_what_a_text_sets_is_not_overruled_by_what_was_before() -> None:
    base = Config().replace(method="fedavg", server_lr=2, optimizer="sgd,momentum=0.5")
    assert base.replace(method="fedavg,server.lr=3").method.server_lr == 3
    assert base.replace(method="fedavg,server=adam").method == MethodConfig(
        "fedadam", optimizer="sgd,momentum=0.5"
    )
    assert base.replace(method="fedavg", optimizer="sgd").method == MethodConfig("fedavg,server_lr=2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fedavg,server.lr=1,server_lr=2", "server_lr is given twice. Leave one of them out."),
        ("fedavg,server=adam,server=yogi", "server is given twice. Leave one of them out."),
        ("fedavg,server", "'server' is no refinement. Write it as in fedavg,server=adam"),
        ("fedavg,sever=adam", "'sever' is not known; did you mean 'server'?"),
        ("fedavg:server_lr=2", "What refines a method follows a comma: fedavg,server_lr=2."),
        ("xyz", "known are centralized, fedavg, .* also after bherd-, grab-, random-, reversed-."),
    ],
)
def test_a_slip_in_a_method_s_text(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MethodConfig(text)


@pytest.mark.parametrize(
    "text",
    [
        *PRESETS,
        "bherd-fedavg,order=reshuffled",
        "fedavg,order=fixed",
        "bherd-krum,order=grab,order.reversed=true,order.frozen=3",
        "fedavg,selector=matching,alpha=linear:0.3:1.0:50,step=matched",
        "scaffold,participation=listed,participation.clients=0+3",
        "fedavg,server=adam,server.lr=0.01,server.tau=1e-05,shipped=mean-of-last,shipped.k=3",
        "fedprox,mu=0.1,transform=top-k,transform.share=0.1,aggregation=trimmed",
    ],
)
def test_a_method_comes_back_from_how_it_is_called(text: str) -> None:
    """Its text for command lines, its table, and its command in the report all give the same method."""
    config = Config().replace(method=text, model="svm")
    assert MethodConfig(as_argument(config.method)) == config.method
    assert from_dict(to_dict(config)) == config
    said = command(config)
    assert said is not None
    assert as_argument(config.method) in said


def test_labels_tell_methods_apart() -> None:
    texts = ("fedavg", "fedavg,order=fixed", "fedavg,order=grab", "fedavg,order=grab,order.frozen=1")
    configs = [Config().replace(method=text) for text in texts]
    assert [method_label(config) for config in configs] == [
        "fedavg",
        "fedavg order=fixed",
        "fedavg order=grab",
        "fedavg order=grab order.frozen=1",
    ]
    assert len({folder_name(config) for config in configs}) == len(texts)


def test_a_comparison_s_common_settings_go_to_the_methods_that_have_them() -> None:
    base = Config().replace(method="fedavg", order="reshuffled")
    common = {"alpha": 0.3, "step": "amplified", "server_lr": 1.5}
    texts = ("fedavg", "grab-fedavg", "bherd-fedavg", "random-fedavg,server.lr=1,step=matched")
    assert [parse_variant(text, base, common).method for text in texts] == [
        method_config({"name": "fedavg", "server_lr": 1.5}),
        MethodConfig("grab-fedavg,server_lr=1.5,step=amplified,order=reshuffled"),
        MethodConfig("bherd-fedavg,alpha=0.3,server_lr=1.5,step=amplified,order=reshuffled"),
        MethodConfig("random-fedavg,alpha=0.3,step=matched,order=reshuffled"),
    ]
    for text in ("fedavg,step=amplified", "grab-fedavg,alpha=0.3"):
        with pytest.raises(InputError, match="ignores it"):
            parse_variant(text, base, common)


def test_a_comparison_s_parts_go_to_all_methods_but_those_that_set_them() -> None:
    base = Config().replace(method="fedavg", order="reshuffled")
    parts = {"server": "adam", "order": "fixed", "optimizer": "sgd,momentum=0.9"}
    texts = ("fedavg", "fednova,server=sgd,optimizer=sgd", "bherd-fedavg,order=herded,server.lr=0.5")
    assert [parse_variant(text, base, parts).method for text in texts] == [
        MethodConfig("fedadam,optimizer.momentum=0.9,order=fixed"),
        MethodConfig("fednova,order=fixed"),
        MethodConfig("bherd-fedadam,server.lr=0.5,optimizer.momentum=0.9,order=herded"),
    ]


@pytest.mark.parametrize("name", ["fedavg", "grab-fednova"])
def test_no_label_folder_or_command_shows_a_setting_without_effect(name: str) -> None:
    config = Config().replace(alpha=0.3, step="equation", model="svm").replace(name=name)
    shown = [method_label(config), folder_name(config), describe(config), command(config) or ""]
    assert not [text for text in shown if "alpha" in text or "None" in text or "equation" in text]


@pytest.mark.usefixtures("empty_folder")
def test_a_run_directory_carries_no_setting_without_effect() -> None:
    assert run("run", "--method", "fedavg", *FAST, "--out", "r", "--quiet") == 0
    written = tomllib.loads(Path("r/config.toml").read_text())["method"]
    assert written == {
        "name": "fedavg",
        "participation": "uniform",
        "order": "reshuffled",
        "optimizer": "sgd,momentum=0.0,nesterov=false,weight_decay=0.0,clip=0.0",
        "correction": "none",
        "selector": "everything",
        "transform": "none",
        "aggregation": "average",
        "server": "sgd,lr=1.0",
        "shipped": "last",
    }
    assert json.loads(Path("r/summary.json").read_text())["method"] == written


@pytest.mark.usefixtures("empty_folder")
@pytest.mark.parametrize("flag", [("--step", "amplified"), ("--alpha", "0.3"), ("--alpha", "0.5")])
def test_run_refuses_a_flag_without_effect(flag: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "--method", "fedavg", *flag, *FAST) == 2
    assert "fedavg ignores it" in capsys.readouterr().err
    assert not Path("runs").exists()
