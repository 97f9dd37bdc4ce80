"""What users import, and the examples in the docstrings."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
import torch

import bherd
from bherd import methods
from bherd.errors import InputError
from bherd.parts.presets import PRESETS
from bherd.parts.table import TABLE
from tests.tiny import tiny_task

MODULES = ["bherd", *(found.name for found in pkgutil.walk_packages(bherd.__path__, "bherd."))]


def test_every_public_name_is_there() -> None:
    assert set(bherd.__all__) <= set(dir(bherd))
    for name in bherd.__all__:
        assert getattr(bherd, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'heard'"):
        _ = bherd.heard


def test_importing_bherd_or_its_configuration_loads_nothing_heavy() -> None:
    code = (
        "import sys, bherd, bherd.config, bherd.names, bherd.errors, bherd.cli\n"
        "bherd.cli.build_parser().format_help()\n"
        "heavy = {'torch', 'numpy', 'pyarrow', 'rich', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        "print(sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_help_imports_no_part() -> None:
    """`bherd --help` reads the table; a part's own module is imported where the part is asked for."""
    paths = [path.partition(":")[0] for row in TABLE.values() for path in row.parts.values()]
    code = (
        "import sys, bherd.cli\n"
        "bherd.cli.build_parser().format_help()\n"
        f"print(sorted(set({paths!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_the_docstrings(name: str) -> None:
    """Every module can be imported (extras aside), and what its examples show is true."""
    if name.endswith("__main__"):
        pytest.skip("runs when it is imported")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("bherd"):
            raise
        pytest.skip(f"needs the package {error.name}, which is an extra")
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize("name", PRESETS)
def test_every_named_method_can_be_made_and_told_again(name: str) -> None:
    made = methods.named(name)
    assert made == bherd.Method(**made.parts, step=made.step)  # type: ignore[arg-type]
    assert methods.method_of(methods.config_of(made)) == made
    assert methods.method_of(bherd.Config().replace(method=name).method) == made
    assert (made.step is None) is made.selector.keeps_all
    assert str(made.order) == ("reshuffled" if made.selector.keeps_all else "fixed")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("fedavg", ("none", "everything", "average", "sgd")),
        ("fednova", ("none", "everything", "nova", "sgd")),
        ("scaffold", ("control-variates", "everything", "average", "sgd")),
        ("fedprox", ("proximal", "everything", "average", "sgd")),
        ("feddyn", ("dynamic", "everything", "average", "sgd")),
        ("fedavgm", ("none", "everything", "average", "momentum")),
        ("fedadam", ("none", "everything", "average", "adam")),
        ("fedmedian", ("none", "everything", "median", "sgd")),
        ("krum", ("none", "everything", "krum", "sgd")),
        ("centralized", ("none", "everything", "average", "sgd")),
        ("bherd-fedavg", ("none", "herding", "average", "sgd")),
        ("bherd-fednova", ("none", "herding", "nova", "sgd")),
        ("bherd-scaffold", ("control-variates", "herding", "average", "sgd")),
        ("grab-fedavg", ("none", "grab", "average", "sgd")),
        ("random-scaffold", ("control-variates", "random", "average", "sgd")),
        ("reversed-fedadam", ("none", "reversed", "average", "adam")),
    ],
)
def test_a_name_is_a_composition(name: str, parts: tuple[str, str, str, str]) -> None:
    method = methods.named(name)
    made = (method.correction, method.selector, method.aggregation, method.server)
    assert tuple(str(part).partition(",")[0] for part in made) == parts


def test_an_unknown_method_is_an_error_with_help() -> None:
    with pytest.raises(InputError, match="did you mean 'bherd-fedavg'"):
        methods.named("bherd-fedag")


def test_partition() -> None:
    parts = bherd.partition(np.arange(20) % 10, "case2", clients=5, seed=0)
    assert [sorted(set((part % 10).tolist())) for part in parts] == [[j, j + 5] for j in range(5)]


def test_simulate_with_a_task_and_a_method_of_ones_own() -> None:
    seen = []
    with pytest.warns(UserWarning, match="these clients keep 56% of their steps"):
        result = bherd.simulate(
            bherd.Config().replace(rounds=4, lr=0.05, batch_size=10),
            task=tiny_task("logistic", dtype=torch.float32),
            method=methods.named("bherd-fedavg", alpha=0.5, step="amplified"),
            on_round=lambda record: seen.append(record.round),
        )
    assert seen == [line["round"] for line in result.metrics] == [1, 2, 3, 4]
    assert result.metrics[-1]["train_loss"] < result.metrics[0]["train_loss"]
    assert {name: tuple(v.shape) for name, v in result.model.items()} == {"weight": (4, 64), "bias": (4,)}
    assert torch.equal(torch.cat([v.reshape(-1) for v in result.model.values()]), result.params)
    assert result.accuracy == result.metrics[-1]["test_accuracy"]
    assert result.metrics[0]["steps"] == 9  # 2 + 4 + 3
    assert result.metrics[0]["kept"] == 5  # 1 + 2 + 2
    assert result.metrics[0]["uplink_bytes"] == 3 * 260 * 4


def test_centralized_is_one_client_with_all_the_data() -> None:
    config = bherd.Config().replace(name="centralized", rounds=1, clients=7, cohort=3)
    result = bherd.simulate(config)
    assert (result.config.task.clients, result.config.train.cohort) == (1, 1.0)
    assert result.config.method.order == "reshuffled"
    assert result.metrics[0]["clients"] == 1
    assert result.metrics[0]["steps"] == 50  # 5,000 samples, batches of 100
