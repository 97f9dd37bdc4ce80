"""The configuration: every bad value is refused with a sentence that helps."""

import dataclasses
import json
import pydoc
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from bherd.config import (
    TABLES,
    Config,
    MethodConfig,
    RunConfig,
    TaskConfig,
    TrainConfig,
    all_settings,
    deciding,
    difference,
    find_setting,
    from_dict,
    identity,
    to_dict,
)
from bherd.errors import InputError
from bherd.labels import describe
from bherd.names import did_you_mean
from bherd.parts.presets import PRESETS
from bherd.toml import parse_toml


def test_defaults_are_the_papers() -> None:
    config = Config()
    assert (config.train.epochs, config.train.batch_size, config.task.clients) == (1.0, 100, 5)
    assert (config.method.alpha, config.train.lr) == (0.5, 1e-4)
    assert (config.method.name, config.method.step) == ("bherd-fedavg", "equation")
    assert (config.run.dtype, config.run.engine) == ("float32", "simulate")


def test_there_and_back() -> None:
    config = Config().replace(alpha=0.3, seed=7, cohort=2, order="reshuffled", data_dir="somewhere")
    assert from_dict(to_dict(config)) == config
    assert from_dict({}) == Config()
    assert from_dict({"train": {}}) == Config()


def test_a_config_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().method.selector = "random"  # type: ignore[misc]


def test_whole_numbers_where_numbers_are_wanted() -> None:
    config = Config().replace(alpha=1, lr=1, epochs=2)
    for value in (config.method.alpha, config.train.lr, config.train.epochs):
        assert isinstance(value, float)


@pytest.mark.parametrize("value", [1, 5, 0.2, 1.0])
def test_a_cohort_keeps_its_kind(value: int | float) -> None:
    """1 is one client, 1.0 is everybody."""
    stored = Config().replace(cohort=value).train.cohort
    assert stored == value
    assert type(stored) is type(value)


def test_the_order_may_be_left_to_the_method() -> None:
    """And is spelled out at once: fixed for what selects, reshuffled for what keeps everything."""
    assert Config().method.order == Config().replace(order=None).method.order == "fixed"
    assert Config().replace(method="fedavg").method.order == "reshuffled"
    assert Config().replace(order="reshuffled").replace(method="fedavg").method.order == "reshuffled"
    assert Config().replace(method="fedavg", order="fixed").replace(alpha=None).method.order == "fixed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[metod]\nalpha = 0.5", r"unknown table \[metod\]; did you mean 'method'"),
        ("[method]\nalhpa = 0.5", r"\[method\] has no setting 'alhpa'; did you mean 'alpha'"),
        ("[train]\nbatchsize = 10", "did you mean 'batch_size'"),
        ("[train]\nlearning_rate = 10", r"\[train\] has no setting 'learning_rate'; known are rounds"),
        ("[task]\nalpha = 0.5", r"\[task\] has no setting 'alpha'"),
        ("[run]\nseed = '0'", "run.seed is '0', but a whole number is expected"),
        ("[method]\nalpha = nan", "alpha = nan"),
        ("alpha = 0.5", r"unknown table \[alpha\]"),
        ("method = 'fedavg'", "'method' must be a table of settings, not 'fedavg'"),
    ],
)
def test_a_slip_in_a_toml_file(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_dict(tomllib.loads(text), "my.toml")


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(1 << 21)
    with pytest.raises(InputError, match="larger than 1 MiB"):
        parse_toml(large)


def test_an_error_names_its_source() -> None:
    with pytest.raises(InputError, match=r"my\.toml: "):
        from_dict({"run": {"sead": 1}}, "my.toml")


def test_replace_knows_every_setting_and_no_other() -> None:
    for section, values in to_dict(Config()).items():
        for name, value in values.items():
            assert find_setting(name).table == section
            assert Config().replace(**{name: value}) == Config()
    with pytest.raises(InputError, match="no setting 'selektor'; did you mean 'selector'"):
        Config().replace(selektor="herding")
    with pytest.raises(InputError, match="no setting 'alhpa'; did you mean 'alpha'"):
        Config().replace(alhpa=0.5)


def test_replace_leaves_the_old_one() -> None:
    old = Config()
    new = old.replace(alpha=0.3, rounds=7)
    assert (old.method.alpha, old.train.rounds) == (0.5, 100)
    assert (new.method.alpha, new.train.rounds) == (0.3, 7)
    assert new.task == old.task


@pytest.mark.parametrize("name", PRESETS)
def test_every_named_method_is_accepted(name: str) -> None:
    assert Config().replace(name=name).method.name == name


def test_did_you_mean() -> None:
    assert did_you_mean("fedavgg", ["fedavg", "fednova"]) == "; did you mean 'fedavg'?"
    assert did_you_mean("xyz", ["fedavg", "fednova"]) == "; known are fedavg, fednova."


def test_difference_tells_runs_apart_by_what_decides_the_result() -> None:
    base = Config()
    assert difference(base, base.replace(workers=3, checkpoint_every=7, data_dir="elsewhere")) is None
    assert difference(base.replace(order="reshuffled"), base) is not None
    assert difference(base.replace(order="fixed"), base) is None
    assert str(difference(base, base.replace(rounds=7))) == "train.rounds is 7 here and 100 there"
    assert difference(base, base.replace(cohort=1)) is not None


def test_what_decides_no_result_is_told_in_one_place() -> None:
    free = {one.path for one in all_settings() if not one.decides}
    assert free == {"task.data_dir", "run.workers", "run.checkpoint_every", "run.memory"}
    for one in all_settings():
        assert (one.name in deciding(Config())[one.table]) is one.decides


def test_identity_is_the_same_exactly_where_there_is_no_difference() -> None:
    base = Config()
    for change in (
        {"workers": 3},
        {"device": "cuda"},
        {"memory": "2GB"},
        {"alpha": 0.1234567},
        {"alpha": 0.1234568},
        {"cohort": 1},
        {"order": "reshuffled"},
        {"order": "fixed"},
        {"server": "sgd,lr=1"},
        {"seed": 1},
        {"eval_every": 2},
    ):
        other = base.replace(**change)
        assert (identity(other) == identity(base)) is (difference(base, other) is None)
    assert identity(base.replace(alpha=0.1234567)) != identity(base.replace(alpha=0.1234568))


def test_an_identity_can_be_read_back() -> None:
    config = Config().replace(method="scaffold", cohort=2, order="fixed", lr=1e-9)
    assert difference(from_dict(json.loads(identity(config))), config) is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RunConfig(engine="simulat"), "run.engine is 'simulat', but one of simulate, reference, ray"),  # type: ignore[arg-type]
        (lambda: TrainConfig(lr="0.1"), "train.lr is '0.1', but a number is expected"),  # type: ignore[arg-type]
        (lambda: TrainConfig(rounds=2.5), "train.rounds is 2.5, but a whole number"),  # type: ignore[arg-type]
        (lambda: TrainConfig(lr=10**400), "lr is inf, but it must be positive"),
        (lambda: TrainConfig(lr=-(10**400)), "lr is -inf, but it must be positive"),
        (lambda: MethodConfig(name="fedavgg"), "did you mean 'fedavg'"),
        (lambda: MethodConfig(selector="herding,alpha=2.0"), r"alpha = 2.0: .*\(0, 1\]"),
        (lambda: TaskConfig(clients=0), "clients is 0"),
        (lambda: RunConfig(memory="much"), "memory is 'much'"),
        (lambda: Config(method="fedavg"), "method is 'fedavg', but a MethodConfig is expected"),  # type: ignore[arg-type]
    ],
)
def test_a_constructor_refuses_what_a_file_would_be_refused_for(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_constructor_file_and_flag_say_the_same() -> None:
    said = []
    for way in (
        lambda: TrainConfig(lr="0.1"),  # type: ignore[arg-type]
        lambda: Config().replace(lr="0.1"),
        lambda: from_dict({"train": {"lr": "0.1"}}),
    ):
        with pytest.raises(InputError) as caught:
            way()
        said.append(str(caught.value))
    assert set(said) == {"train.lr is '0.1', but a number is expected"}


def test_numpys_scalars_become_plain_values() -> None:
    config = Config().replace(
        clients=np.int64(3),
        alpha=np.float32(0.25),
        lr=np.float64(0.01),
        epochs=np.int32(2),
        eval_train=np.bool_(False),
        partition=np.str_("case1"),
        cohort=np.int64(2),
    )
    plain = Config().replace(
        clients=3, alpha=0.25, lr=0.01, epochs=2, eval_train=False, partition="case1", cohort=2
    )
    assert config == plain
    for one in all_settings():
        ours, usual = (getattr(getattr(c, one.table), one.name) for c in (config, plain))
        assert type(ours) is type(usual), one.path
    resolved = config.replace(order="reshuffled", model="svm")
    assert tomllib.loads(tomli_w.dumps(deciding(resolved)))["task"]["clients"] == 3
    assert TrainConfig(rounds=np.int64(3)).rounds == 3  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a whole number is expected"):
        TrainConfig(rounds=np.float64(3.0))  # type: ignore[arg-type]


def test_a_path_is_taken_as_its_text() -> None:
    assert TaskConfig(dataset=Path("a") / "b.npz").dataset == str(Path("a") / "b.npz")  # type: ignore[arg-type]


def test_the_method_may_be_named_as_its_flag_is() -> None:
    assert Config().replace(method="fedavg", batch_size=10).method.name == "fedavg"
    with pytest.raises(InputError, match="method is 'fedavgg', which is not known; did you mean 'fedavg'"):
        Config().replace(method="fedavgg")


@pytest.mark.parametrize("kind", [Config, MethodConfig, TaskConfig, TrainConfig, RunConfig])
def test_help_shows_every_setting_with_its_default(kind: type) -> None:
    text = pydoc.plain(pydoc.render_doc(kind))
    words = " ".join(text.replace("|", " ").split())
    for one in all_settings():
        if kind is Config or kind is TABLES[one.table]:
            assert f"{one.name} = {one.usual} {one.help}" in words


@pytest.mark.parametrize(
    ("given", "spelled_out"),
    [
        ("dirichlet", "dirichlet:0.5"),
        ("quantity", "quantity:0.5"),
        ("shards", "shards:2"),
        ("Dirichlet(0.30)", "dirichlet:0.3"),
        ("case3", "case3"),
    ],
)
def test_a_partition_is_spelled_out(given: str, spelled_out: str) -> None:
    """However it was written, so that two spellings are one run and no parameter is silent."""
    config = Config().replace(partition=given)
    assert config.task.partition == TaskConfig(partition=given).partition == spelled_out
    assert difference(config, from_dict({"task": {"partition": spelled_out}})) is None
    assert f"({spelled_out}, 5 clients)" in describe(config.replace(model="svm"))


def test_a_partition_that_does_not_exist_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"unknown partition 'case4'.*Did you mean 'case"):
        Config().replace(partition="case4")
