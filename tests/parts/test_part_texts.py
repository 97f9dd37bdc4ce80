"""Parts by their texts, and that importing them costs nothing."""

import subprocess
import sys

import pytest

from bherd.aggregations.geometric_median import GeometricMedian
from bherd.aggregations.krum import Krum
from bherd.aggregations.trimmed import TrimmedMean
from bherd.corrections.dynamic import Dynamic
from bherd.corrections.proximal import Proximal
from bherd.errors import InputError
from bherd.methods import named
from bherd.optimizers.sgd import LocalSgd
from bherd.parts.part import Part, at_round
from bherd.parts.schedule import Schedule
from bherd.parts.spec import build, complete
from bherd.parts.table import TABLE
from bherd.selectors.herding import Herding
from bherd.servers.adam import ServerAdam
from bherd.servers.extrapolation import Extrapolation
from bherd.servers.momentum import ServerMomentum
from bherd.shipped.mean_of_last import MeanOfLast
from bherd.shipped.running_mean import RunningMean

HERE = ("optimizer", "correction", "aggregation", "server", "shipped")


@pytest.mark.parametrize(("axis", "name"), [(axis, name) for axis in HERE for name in TABLE[axis].parts])
def test_a_part_comes_back_from_its_text(axis: str, name: str) -> None:
    part = build(axis, name)
    assert axis == part.AXIS
    assert build(axis, str(part)) == part
    assert str(part) == complete(axis, name)
    assert part.__doc__ is not None
    assert "Use it" in part.__doc__


@pytest.mark.parametrize(
    "part",
    [
        ServerMomentum(0.1, 0.3),
        ServerAdam(1e-5, 0.0, 0.999, 1e-8),
        Extrapolation(eps=0.1),
        TrimmedMean(1 / 3),
        Krum(2, 3),
        GeometricMedian(3, 1e-9),
        Proximal(0.0),
        Dynamic(7.0),
        RunningMean(0.123456789),
        MeanOfLast(2),
        LocalSgd(0.9, True, 5e-4, 1.0),
        LocalSgd(momentum=Schedule("linear:0.1:0.9:10")),
    ],
    ids=str,
)
def test_other_numbers_come_back_too(part: Part) -> None:
    assert build(part.AXIS, str(part)) == part


def test_a_schedule_has_a_number_in_each_round() -> None:
    part = build("correction", "proximal,mu=linear:1:3:3")
    assert [str(at_round(part, number)) for number in (1, 2, 3)] == [
        "proximal,mu=1.0",
        "proximal,mu=2.0",
        "proximal,mu=3.0",
    ]


def test_a_part_without_a_schedule_is_itself_in_every_round() -> None:
    """Also beside an equal part that was asked before."""
    for part in (Herding(0.5), Herding(0.5)):
        assert at_round(part, 3) is part
    for method in (named("bherd-scaffold"), named("bherd-scaffold")):
        assert method.at(3) is method


def test_what_is_wrong_names_the_axis() -> None:
    with pytest.raises(InputError, match=r"server = 'adam': beta1 = 1.0: must be in \[0, 1\)"):
        build("server", "adam,beta1=1.0")


@pytest.mark.parametrize("axis", TABLE)
def test_importing_a_part_does_not_import_torch(axis: str) -> None:
    modules = sorted({path.partition(":")[0] for path in TABLE[axis].parts.values()})
    code = f"import sys, {', '.join(modules)}; print('torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
