"""Statistics over seeds: against scipy, against tables, and the properties that honest words need."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from bherd.statistics import (
    LEVEL,
    Difference,
    band,
    common_target,
    geometric_interval,
    holm,
    interval,
    paired,
    paired_ratio,
    reach,
    rounds_to,
    together,
    verdict,
)

VALUES = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12)
POSITIVE = st.lists(st.floats(0.01, 100.0), min_size=2, max_size=8)
P_VALUES = st.lists(st.floats(0.0, 1.0), max_size=12)
STUDENT_975 = {2: 12.7062, 3: 4.3027, 4: 3.1824, 5: 2.7764, 10: 2.2622}
"""Two-sided 95% quantiles by the number of values, from a printed table."""


def by_seed(*values: float) -> dict[int, float]:
    return dict(enumerate(values))


@pytest.mark.parametrize(("count", "quantile"), STUDENT_975.items())
def test_an_interval_has_the_width_of_the_printed_table(count: int, quantile: float) -> None:
    values = [float(i) for i in range(count)]
    spread = math.sqrt(sum((v - (count - 1) / 2) ** 2 for v in values) / (count - 1))
    found = interval(values)
    assert found.mean == pytest.approx((count - 1) / 2)
    assert found.half_width == pytest.approx(quantile * spread / math.sqrt(count), rel=1e-4)
    assert (found.samples, found.lost) == (count, 0)


def test_few_values_and_lost_ones() -> None:
    assert interval([]).samples == 0
    assert math.isnan(interval([]).mean)
    one = interval([3.0])
    assert one.mean == 3.0
    assert math.isnan(one.half_width)
    found = interval([1.0, math.inf, 3.0, -math.inf, math.nan])
    assert (found.mean, found.samples, found.lost) == (2.0, 2, 3)


@given(VALUES, st.floats(0.5, 0.999))
def test_an_interval_is_scipy_s(values: list[float], confidence: float) -> None:
    found = interval(values, confidence)
    error = float(stats.sem(values))
    low, high = (
        stats.t.interval(confidence, len(values) - 1, np.mean(values), error) if error else (found.mean,) * 2
    )
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6, abs=1e-9)


@given(POSITIVE)
def test_a_geometric_interval_does_not_care_about_inverses(values: list[float]) -> None:
    found, inverse = geometric_interval(values), geometric_interval([1 / value for value in values])
    assert found.mean == pytest.approx(float(stats.gmean(values)))
    assert found.mean * inverse.mean == pytest.approx(1)
    assert found.low * inverse.high == pytest.approx(1, rel=1e-6)
    assert 0 < found.low <= found.mean <= found.high


def test_huge_ratios_do_not_overflow() -> None:
    assert geometric_interval([1.0, 1e300]).high == math.inf
    assert paired_ratio(by_seed(1e300, 1.0), by_seed(1.0, 1.0)).interval.high == math.inf


def test_a_logarithm_needs_a_positive_value() -> None:
    with pytest.raises(ValueError, match=r"value = 0\.0: must be positive"):
        paired_ratio(by_seed(1.0), by_seed(0.0))


def test_a_band_is_the_interval_of_each_column() -> None:
    values = np.array([[1.0, 5.0, math.inf], [2.0, 5.0, 1.0], [3.0, 5.0, 3.0]])
    found = band(values)
    for column in range(3):
        assert (found.mean[column], found.low[column], found.high[column]) == interval(values[:, column])[:3]
    assert band(values[:, :1], geometric=True).mean[0] == pytest.approx(6 ** (1 / 3))
    assert math.isnan(band(values[:1]).low[0])


@given(st.lists(st.tuples(st.floats(-10, 10), st.floats(-10, 10)), min_size=2, max_size=8))
def test_paired_differences_are_scipy_s(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    assume(np.std(a - b) > 1e-6)
    found, expected = paired(by_seed(*a), by_seed(*b)), stats.ttest_rel(a, b)
    limits = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(float(expected.pvalue), rel=1e-5, abs=1e-9)
    assert found.interval[1:3] == pytest.approx((limits.low, limits.high), rel=1e-5, abs=1e-7)


def test_pairs_are_made_by_seed() -> None:
    found = paired({0: 0.5, 1: 0.7}, {1: 0.8, 0: 0.6, 2: 0.0})
    assert found.interval[:4] == pytest.approx((-0.1, -0.1, -0.1, 2))
    assert found.p == 0.0
    nothing = paired({0: 1.0}, {1: 1.0})
    assert (nothing.seeds, nothing.test, verdict(nothing, 1.0)) == (0, "none", "undecided")


@given(POSITIVE)
def test_who_is_compared_with_whom_does_not_matter(values: list[float]) -> None:
    a, b = by_seed(*values), by_seed(*reversed(values))
    for kind in (paired, paired_ratio):
        one, other = kind(a, b), kind(b, a)
        assert one.p == pytest.approx(other.p)
        assert one.mean == pytest.approx(-other.mean)
        assert one.reversed().interval == pytest.approx(other.interval, rel=1e-6, abs=1e-9, nan_ok=True)
        mirrored = {"ahead": "behind", "behind": "ahead"}
        word = verdict(one, 0.0)
        assert verdict(other, 0.0) == mirrored.get(word, word)


def test_lost_runs_are_counted_by_sign_and_are_never_equal() -> None:
    lost, whole = by_seed(*[-math.inf] * 6), by_seed(*[0.5] * 6)
    found = paired(whole, lost)
    assert (found.test, found.effect) == ("sign", 1.0)
    assert found.p == pytest.approx(2 * 0.5**6)
    assert verdict(found, 0.005) == "ahead"
    assert verdict(paired(lost, whole), 0.005) == "behind"
    assert verdict(paired(lost, lost), 1e9) == "undecided"
    one_lost = by_seed(0.5, 0.5, 0.5, 0.5, 0.5, -math.inf)
    assert paired(whole, one_lost).p == pytest.approx(float(stats.binomtest(1, 1).pvalue))
    assert verdict(paired(whole, one_lost), 1e9) == "undecided"


def test_holm_on_the_textbook_s_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    adjusted = holm([0.04, math.nan, 0.02])
    assert adjusted[0] == pytest.approx(0.04)
    assert math.isnan(adjusted[1])
    assert adjusted[2] == pytest.approx(0.04)


@given(P_VALUES)
def test_holm_lies_between_no_correction_and_bonferroni_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for p, q in zip(p_values, adjusted, strict=True):
        assert p <= q <= min(1.0, len(p_values) * p)
    assert [adjusted[i] for i in np.argsort(p_values, kind="stable")] == sorted(adjusted)


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=12))
def test_each_comparison_is_significant_at_its_level_exactly_where_holm_says_so(
    p_values: list[float],
) -> None:
    family = together([Difference(5, 1.0, 1.0, p, 0.0, "t") for p in p_values])
    for one, adjusted in zip(family, holm(p_values), strict=True):
        if not math.isclose(adjusted, LEVEL, rel_tol=1e-9):
            assert (one.p <= one.level) == (adjusted <= LEVEL)


@given(st.lists(st.lists(st.floats(-1, 1), min_size=4, max_size=4), min_size=1, max_size=6))
def test_a_word_never_contradicts_the_interval_beside_it(rows: list[list[float]]) -> None:
    zero = by_seed(0.0, 0.0, 0.0, 0.0)
    margin = 0.3
    for found in together([paired(by_seed(*row), zero) for row in rows]):
        shown, word = found.interval, verdict(found, margin)
        if word in ("ahead", "behind"):
            assert shown.low >= -1e-9 if word == "ahead" else shown.high <= 1e-9
        elif word == "equal":
            assert -margin <= shown.low <= shown.high <= margin
        else:
            assert shown.low <= 1e-9
            assert shown.high >= -1e-9


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ((0.05, 0.06, 0.05), "ahead"),
        ((-0.05, -0.06, -0.05), "behind"),
        ((0.001, -0.001, 0.0), "equal"),
        ((0.002, 0.002, 0.002), "equal"),  # surely larger, and surely too little to matter
        ((0.11, 0.0, 0.04), "undecided"),  # a lead of five points, ± 14
        ((0.05, 0.05), "undecided"),
        ((0.0,), "undecided"),
        ((), "undecided"),
    ],
)
def test_the_words(differences: tuple[float, ...], expected: str) -> None:
    assert verdict(paired(by_seed(*differences), by_seed(*[0.0] * 3)), 0.005) == expected


def test_a_family_of_equal_methods_is_seldom_called_different() -> None:
    """Five equal methods, all ten pairs: at most one family in twenty may hold a false 'ahead'."""
    generator = np.random.default_rng(0)
    families, wrong, uncorrected = 400, 0, 0
    for _ in range(families):
        methods = [by_seed(*row) for row in generator.normal(size=(5, 5))]
        pairs = [paired(methods[i], methods[j]) for i in range(5) for j in range(i)]
        wrong += any(verdict(pair, 0.0) != "undecided" for pair in together(pairs))
        uncorrected += any(verdict(pair, 0.0) != "undecided" for pair in pairs)
    assert wrong <= 0.05 * families < uncorrected


def test_reaching_a_target() -> None:
    assert rounds_to([5, 10, 15], [0.5, 0.8, 0.7], 0.75) == 10.0
    assert rounds_to([5, 10], [None, 0.8], 0.8) == 10.0
    assert rounds_to([5, 10], [0.1, 0.2], 0.75) == math.inf


def test_never_is_longer_than_any() -> None:
    assert reach([12.0, 20.0, 16.0]) == (16.0, 12.0, 20.0, 3, 3)
    assert reach([12.0, 20.0, math.inf]) == (20.0, 12.0, 20.0, 2, 3)
    assert reach([12.0, math.inf]) == (math.inf, 12.0, 12.0, 1, 2)
    assert reach([math.inf]) == (math.inf, math.inf, math.inf, 0, 1)
    assert reach([4.0, 6.0]).median == 5.0


@given(st.lists(st.one_of(st.floats(1, 100), st.just(math.inf)), min_size=1, max_size=9))
def test_a_median_leaves_half_on_each_side(firsts: list[float]) -> None:
    found = reach(firsts)
    assert sum(first <= found.median for first in firsts) >= len(firsts) / 2
    assert sum(first >= found.median for first in firsts) >= len(firsts) / 2


def test_common_target_is_what_all_that_learn_reach() -> None:
    assert common_target([0.847, 0.832]) == 0.83
    assert common_target([0.847, 0.3]) == 0.84
    assert common_target([0.29, math.nan]) == 0.29
    assert common_target([]) == 0.5
