"""What a comparison reads from its runs."""

import math

import pytest

from bherd.many.compare import Curve, Row, default_target


def curve(seed: int, *accuracies: float, diverged_at: int | None = None) -> Curve:
    rounds = list(range(1, len(accuracies) + 1))
    return Curve(seed, rounds, [0.5] * len(rounds), list(accuracies), [0.1 * r for r in rounds], diverged_at)


def test_reaching_a_target_is_the_first_round_at_or_above_it() -> None:
    row = Row("m", [curve(0, 0.5, 0.8, 0.7), curve(1, 0.9), curve(2, 0.1)])
    assert row.rounds_to(0.8) == (2, 1, 2, 2, 3)
    assert row.seconds_to(0.8).low == pytest.approx(0.1)
    assert row.rounds_to(0.95).reached == 0


def test_a_diverged_run_is_counted_and_has_no_part_in_the_mean() -> None:
    row = Row("m", [curve(0, 0.8), curve(1, 0.9), curve(2, 0.1, diverged_at=1)])
    assert row.final_accuracy()[3:] == (2, 1)
    assert row.final_accuracy().mean == pytest.approx(0.85)
    assert row.diverged == 1
    assert row.contender().finals == {0: 0.8, 1: 0.9, 2: -math.inf}


def test_the_target_is_what_all_methods_end_at() -> None:
    rows = [Row("a", [curve(0, 0.847)]), Row("b", [curve(0, 0.832)])]
    assert default_target(rows) == 0.83
    assert default_target([*rows, Row("c", [curve(0, 0.8, diverged_at=1)])]) == 0.83
