"""What pyproject.toml promises about dependencies is what the constraints files install."""

import re
import tomllib

import pytest

from tests.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TRACKERS = ("tensorboard", "mlflow", "wandb")


def pins(name: str) -> dict[str, tuple[int, ...]]:
    found = re.findall(r"^([\w.-]+)==([\d.]+)", (ROOT / name).read_text(), flags=re.MULTILINE)
    return {project.lower().replace("_", "-"): numbers(version) for project, version in found}


def bounds() -> dict[str, tuple[int, ...]]:
    """The lower bounds of what users install: the core and the trackers."""
    extras = PROJECT["optional-dependencies"]
    wanted = PROJECT["dependencies"] + [line for name in TRACKERS for line in extras[name]]
    found = [re.fullmatch(r"([\w-]+)>=([\d.]+)", line) for line in wanted]
    assert all(found), "each has a lower bound and no other"
    return {one[1]: numbers(one[2]) for one in found if one}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.strip(".").split("."))


@pytest.mark.parametrize(("name", "bound"), bounds().items())
def test_the_lowest_versions_are_those_of_the_bounds(name: str, bound: tuple[int, ...]) -> None:
    lowest = pins("constraints-lowest.txt")[name]
    assert lowest[: len(bound)] == bound
    assert pins("constraints.txt")[name] >= lowest


def test_torch_is_pinned_where_a_cpu_build_installs() -> None:
    assert pins("constraints.txt")["torch"] == (2, 13, 0)
