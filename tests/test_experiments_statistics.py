"""The statistics of the experiments, against numbers that can be checked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bherd.experiments import statistics

POSITIVE = st.floats(0.5, 2.0)


def test_band_is_students_interval() -> None:
    found = statistics.band(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    half = 4.302653 / math.sqrt(3)  # t quantile with 2 degrees of freedom; standard deviation 1
    assert found.mean == pytest.approx([2.0, 5.0])
    assert found.low == pytest.approx([2.0 - half, 5.0], abs=1e-5)
    assert found.high == pytest.approx([2.0 + half, 5.0], abs=1e-5)


def test_one_seed_has_no_width() -> None:
    found = statistics.band(np.array([[1.0, 2.0]]))
    assert np.array_equal(found.low, found.high)


def test_interval_with_a_lost_run_is_infinite() -> None:
    found = statistics.interval(np.array([1.0, math.inf]))
    assert found.mean == math.inf
    assert math.isnan(statistics.interval(np.array([])).mean)


def test_area_is_the_mean_height() -> None:
    assert statistics.area(np.array([1.0, 3.0, 4.0]), np.array([2.0, 4.0, 0.0])) == pytest.approx(8 / 3)
    assert statistics.area(np.array([1.0]), np.array([7.0])) == 7.0


def test_rounds_to_target() -> None:
    rounds, accuracy = np.array([5.0, 10.0, 15.0]), np.array([0.5, 0.8, 0.7])
    assert statistics.rounds_to(rounds, accuracy, 0.75) == 10.0
    assert statistics.rounds_to(rounds, accuracy, 0.9) == math.inf


def test_oscillation_is_zero_for_what_only_falls() -> None:
    assert statistics.oscillation(np.array([9.0, 5.0, 4.0, 3.0, 2.0, 1.0])) == 0.0
    # second half 1, 2, 1, 2: variation 3, net change 1, three steps, height 1.5
    assert statistics.oscillation(np.array([9, 9, 9, 9, 1.0, 2, 1, 2])) == pytest.approx(2 / 3 / 1.5)


def test_paired_comparison_agrees_with_scipy() -> None:
    a, b = np.array([0.9, 0.8, 0.95, 0.7]), np.array([1.0, 1.1, 1.0, 0.9])
    found = statistics.compare(a, b)
    expected = stats.ttest_rel(np.log(a), np.log(b))
    limits = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(float(expected.pvalue))
    assert found.difference == pytest.approx(
        (stats.gmean(a / b) - 1, math.exp(limits.low) - 1, math.exp(limits.high) - 1)
    )
    assert found.effect == pytest.approx(np.log(a / b).mean() / np.log(a / b).std(ddof=1))
    assert (found.n, found.test) == (4, "t")


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=8))
def test_who_is_compared_with_whom_does_not_matter(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    one, other = statistics.compare(a, b), statistics.compare(b, a)
    assert (1 + one.difference.mean) * (1 + other.difference.mean) == pytest.approx(1)
    assert (1 + one.difference.low) * (1 + other.difference.high) == pytest.approx(1, rel=1e-6)
    assert one.p == pytest.approx(other.p)
    assert one.effect == pytest.approx(-other.effect)


@pytest.mark.parametrize("b", [0.0, -1.0])
def test_only_positive_quantities_have_a_ratio(b: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        statistics.compare(np.array([1.0]), np.array([b]))


def test_lost_runs_are_counted_by_sign() -> None:
    a, b = np.array([math.inf] * 6), np.array([1.0] * 6)
    found = statistics.compare(a, b)
    assert found.test == "sign"
    assert found.difference.mean == math.inf
    assert found.p == pytest.approx(2 * 0.5**6)
    assert found.effect == -1.0
    level = statistics.compare(a, a)
    assert (level.p, level.difference.mean) == (1.0, 0.0)


def test_identical_series_do_not_differ() -> None:
    found = statistics.compare(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert (found.p, found.effect, found.difference.mean) == (1.0, 0.0, 0.0)


def test_exceeds_a_multiple() -> None:
    a, b = np.array([3.0, 3.2, 3.1]), np.array([1.0, 1.1, 1.0])
    twice, four = statistics.exceeds(a, b, 2.0), statistics.exceeds(a, b, 4.0)
    assert twice.difference.mean > 0
    assert four.difference.mean < 0
    assert statistics.exceeds(a, np.zeros(3), 2.0).difference.mean == pytest.approx(3.1)


def test_no_common_seed_is_no_comparison() -> None:
    assert statistics.compare(np.array([]), np.array([])).n == 0
