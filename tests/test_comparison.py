"""What a comparison says of its numbers."""

import math

import pytest

from bherd.cli.demo import verdict
from bherd.comparison import Curve, Row, common_target, interval, paired_difference


def curve(seed: int, *accuracies: float) -> Curve:
    rounds = list(range(1, len(accuracies) + 1))
    return Curve(seed, rounds, [0.5] * len(rounds), list(accuracies), [0.1 * r for r in rounds], None)


def test_interval_is_student_s() -> None:
    assert interval([]).samples == 0
    assert interval([3.0]).mean == 3.0
    assert math.isnan(interval([3.0]).half_width)
    three = interval([1.0, 2.0, 3.0])
    assert three.mean == 2.0
    assert three.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_reaching_a_target_is_the_first_round_at_or_above_it() -> None:
    assert curve(0, 0.5, 0.8, 0.7).reaches(0.8) == (2, 0.2)
    assert curve(0, 0.5).reaches(0.8) is None
    row = Row("m", [curve(0, 0.5, 0.8), curve(1, 0.9), curve(2, 0.1)])
    assert row.rounds_to(0.8).mean == 1.5
    assert row.rounds_to(0.8).samples == 2


def test_differences_are_paired_by_seed() -> None:
    first = Row("a", [curve(0, 0.5), curve(1, 0.7)])
    second = Row("b", [curve(1, 0.8), curve(0, 0.6), curve(2, 0.0)])
    difference = paired_difference(first, second)
    assert difference.samples == 2
    assert difference.mean == pytest.approx(0.1)
    assert difference.half_width == pytest.approx(0.0, abs=1e-9)


def test_common_target_is_what_all_that_learn_reach() -> None:
    assert common_target([0.847, 0.832]) == 0.83
    assert common_target([0.847, 0.3]) == 0.84
    assert common_target([]) == 0.5


@pytest.mark.parametrize(
    ("amplified", "expected"),
    [
        ((0.85, 0.84, 0.86), "comes from the longer step, not from which gradients"),
        ((0.95, 0.94, 0.96), "part of the gain here comes from which gradients are kept"),
        ((0.75, 0.74, 0.76), "the choice of gradients costs accuracy"),
    ],
)
def test_the_demo_s_sentence_follows_its_numbers(amplified: tuple[float, ...], expected: str) -> None:
    def row(*finals: float) -> Row:
        return Row("", [curve(seed, final) for seed, final in enumerate(finals)])

    fedavg, control, random = row(0.80, 0.80, 0.80), row(0.85, 0.85, 0.85), row(0.85, 0.85, 0.85)
    assert expected in verdict([fedavg, fedavg, row(*amplified), control, random])
