"""A value that no run can use is refused with a sentence that helps."""

import math

import pytest

from bherd.config import Config, MethodConfig, RunConfig, TaskConfig, TrainConfig, find_setting
from bherd.errors import InputError


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("alpha", 0.0, r"alpha = 0.0: .* must be in \(0, 1\]\. Try 0\.5"),
        ("alpha", 1.5, r"alpha = 1.5: .* must be in \(0, 1\]"),
        ("alpha", -0.5, "alpha = -0.5: "),
        ("alpha", math.nan, "alpha = nan: "),
        ("alpha", math.inf, "alpha = inf: "),
        ("alpha", "half", "alpha = 'half': must be a number, or a schedule such as"),
        ("alpha", True, "alpha = 'true': must be a number, or a schedule such as"),
        ("alpha", "linear:0.3:1.5:10", r"alpha=linear:0.3:1.5:10': alpha = 1.5: .* must be in \(0, 1\]"),
        ("alpha", "linear:0.3", "alpha = 'linear:0.3': a schedule is written linear:START:END:ROUNDS"),
        ("server_lr", 0.0, "lr = 0.0: must be a positive number"),
        ("server_lr", math.nan, "lr = nan: must be a positive number"),
        ("selector", "herdin", "selector = 'herdin': 'herdin' is not known; did you mean 'herding'"),
        ("selector", "herding,alpha", "'alpha' is no parameter. A part is written NAME,key=value"),
        ("selector", "grab,alpha=0.3", "grab has no parameter 'alpha'; it has none"),
        ("server", "adam,rate=1", "adam has no parameter 'rate'; known are lr, beta1, beta2, tau"),
        ("order", "fixd", "order = 'fixd': .*did you mean 'fixed'"),
        ("participation", "0.1", "participation is '0.1', but .*: cohort = 0.1"),
        ("lr", 0.0, "lr is 0.0, but it must be positive"),
        ("lr", -1.0, "lr is -1.0"),
        ("lr", math.nan, "lr is nan"),
        ("lr", math.inf, "lr is inf"),
        ("epochs", 0.0, "epochs is 0.0"),
        ("epochs", -1.0, "epochs is -1.0"),
        ("epochs", math.inf, "epochs is inf"),
        ("epochs", math.nan, "epochs is nan"),
        ("clients", 0, "clients is 0, but it must be at least 1"),
        ("clients", -3, "clients is -3"),
        ("rounds", 0, "rounds is 0"),
        ("batch_size", 0, "batch_size is 0, but it must be at least 1"),
        ("batch_size", -100, "batch_size is -100"),
        ("eval_every", 0, "eval_every is 0"),
        ("seed", -1, "seed is -1, but it must not be negative"),
        ("workers", -1, "workers is -1"),
        ("checkpoint_every", -1, "checkpoint_every is -1"),
        ("cohort", 0, "cohort is 0 clients per round"),
        ("cohort", 6, "cohort is 6 clients per round, but there are 5"),
        ("cohort", 0.0, r"cohort is 0.0, but a share must lie in \(0, 1\]"),
        ("cohort", 5.0, "write it without a point"),
        ("cohort", math.nan, "cohort is nan"),
        ("name", "fedavgg", "'fedavgg', which is not known; did you mean 'fedavg'"),
        ("name", "BHERD-fedavg", "did you mean 'bherd-fedavg'"),
        ("name", "zzz", "known are centralized, fedavg"),
        ("name", "", "which is not known"),
    ],
)
def test_a_value_that_no_run_can_use(setting: str, value: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Config().replace(**{setting: value})


def test_direct_construction_is_checked_too() -> None:
    with pytest.raises(InputError, match="alpha"):
        Config(method=MethodConfig(selector="herding,alpha=0.0"))
    with pytest.raises(InputError, match="batch_size"):
        Config(train=TrainConfig(batch_size=0))
    with pytest.raises(InputError, match="clients"):
        Config(task=TaskConfig(clients=0))
    with pytest.raises(InputError, match="seed"):
        Config(run=RunConfig(seed=-1))
    with pytest.raises(InputError, match="cohort"):
        Config(task=TaskConfig(clients=3), train=TrainConfig(cohort=4))


@pytest.mark.parametrize(
    ("setting", "value", "wanted"),
    [
        ("clients", True, "a whole number"),
        ("clients", 5.0, "a whole number"),
        ("clients", "5", "a whole number"),
        ("rounds", 1.5, "a whole number"),
        ("selector", 0.5, "a text"),
        ("participation", 3, "a text"),
        ("order", True, "a text"),
        ("cohort", True, "a whole number or a number"),
        ("cohort", "all", "a whole number or a number"),
        ("ledger", 1, "true or false"),
        ("ledger", "yes", "true or false"),
        ("eval_train", 0, "true or false"),
        ("dataset", 3, "a text"),
        ("step", "longer", "one of equation, amplified"),
        ("engine", "fast", "one of simulate, reference"),
        ("dtype", "float16", "one of float32, float64"),
        ("seed", [1], "a whole number"),
    ],
)
def test_a_value_of_the_wrong_type(setting: str, value: object, wanted: str) -> None:
    with pytest.raises(InputError, match=rf"{find_setting(setting).table}\.{setting} is .*, but {wanted}"):
        Config().replace(**{setting: value})
