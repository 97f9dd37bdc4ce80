"""From runs to numbers: bands, areas, rounds to a target, oscillation, and paired tests."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
CONFIDENCE = 0.95
SETTLED = 1.1


class Band(NamedTuple):
    """A mean and its 95% interval, each of the shape of one series."""

    mean: Floats
    low: Floats
    high: Floats


class Interval(NamedTuple):
    """A mean and its 95% interval."""

    mean: float
    low: float
    high: float


class Comparison(NamedTuple):
    """A against B over the same seeds; differences are A / B - 1 unless said otherwise."""

    n: int
    difference: Interval
    p: float
    effect: float
    """Cohen's d of what is tested, for ratios their logarithms; with unfinished runs, the share of seeds
    where A is smaller less the share where it is larger."""
    test: str
    """t: paired t-test; sign: sign test, where a run did not finish and its value is infinite."""


def band(values: Floats) -> Band:
    """Mean and Student's t band over the first axis, the seeds; one seed has a band of no width."""
    count = len(values)
    mean = values.mean(0)
    if count < 2:
        return Band(mean, mean.copy(), mean.copy())
    quantile = float(stats.t.ppf(0.5 + CONFIDENCE / 2, count - 1))
    half = quantile * values.std(0, ddof=1) / math.sqrt(count)
    return Band(mean, mean - half, mean + half)


def interval(values: Floats) -> Interval:
    """Mean and 95% interval of numbers, one a seed; infinite where one of them is."""
    if len(values) == 0:
        return Interval(math.nan, math.nan, math.nan)
    if not np.isfinite(values).all():
        return Interval(math.inf, math.nan, math.inf)
    found = band(values.reshape(-1, 1))
    return Interval(float(found.mean[0]), float(found.low[0]), float(found.high[0]))


def area(rounds: Floats, values: Floats) -> float:
    """Area under a curve by trapezoids, divided by its length in rounds: the mean height."""
    if len(values) == 1:
        return float(values[0])
    return float(np.trapezoid(values, rounds) / (rounds[-1] - rounds[0]))


def rounds_to(rounds: Floats, values: Floats, target: float) -> float:
    """The first round at which the target is reached, infinity if it never is."""
    reached = np.flatnonzero(values >= target)
    return float(rounds[reached[0]]) if len(reached) else math.inf


def tail(values: Floats) -> Floats:
    """The last tenth of a series, at least its last value."""
    return values[-max(1, len(values) // 10) :]


def settled(diverged_at: int, tail_loss: float, best_loss: float) -> bool:
    """Whether a run came to its end, and there no higher than `SETTLED` times the lowest loss it had."""
    return diverged_at == 0 and tail_loss <= SETTLED * best_loss


def oscillation(values: Floats) -> float:
    """How much a curve goes back and forth in its second half; 0 for one that only falls or only rises.

    Total variation less net change, over the number of steps and the mean height.
    """
    late = values[len(values) // 2 :]
    if len(late) < 2:
        return 0.0
    changes = np.diff(late)
    spare = float(np.abs(changes).sum() - abs(changes.sum()))
    return spare / len(changes) / float(np.abs(late).mean())


def exceeds(a: Floats, b: Floats, factor: float = 1.0) -> Comparison:
    """Whether A is larger than `factor` times B, paired over the seeds; the difference is A - factor B."""
    if len(a) == 0 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return compare(a, factor * b)
    return _by_t(a - factor * b)


def compare(a: Floats, b: Floats) -> Comparison:
    """A paired comparison of two positive quantities over the same seeds, in the same order.

    The mean, its interval and the test are those of log(A / B): so a ratio and its inverse count alike,
    one seed in which A is a thousand times B does not hide the others, and no interval goes below -100%.
    A value that is infinite (the run diverged, or the target was never reached) counts as larger than
    every finite one, and equal to another infinite one.
    """
    count = len(a)
    if count == 0:
        return Comparison(0, Interval(math.nan, math.nan, math.nan), math.nan, math.nan, "none")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return _by_sign(a, b)
    if a.min() <= 0 or b.min() <= 0:
        raise ValueError("only positive quantities have a ratio")
    found = _by_t(np.log(a / b))
    return found._replace(difference=Interval(*(math.expm1(value) for value in found.difference)))


def _by_t(differences: Floats) -> Comparison:
    count, found = len(differences), interval(differences)
    spread = float(differences.std(ddof=1)) if count > 1 else 0.0
    if spread <= 1e-13 * abs(found.mean):
        same = found.mean == 0.0
        p = 1.0 if same else 0.0 if count > 1 else math.nan
        return Comparison(count, found, p, 0.0 if same else math.copysign(math.inf, found.mean), "t")
    p = float(stats.ttest_1samp(differences, 0.0).pvalue)
    return Comparison(count, found, p, found.mean / spread, "t")


def _by_sign(a: Floats, b: Floats) -> Comparison:
    smaller, larger = int((a < b).sum()), int((a > b).sum())
    decided = smaller + larger
    p = float(stats.binomtest(smaller, decided).pvalue) if decided else 1.0
    direction = -math.inf if smaller > larger else math.inf if larger > smaller else 0.0
    unbounded = Interval(direction, math.nan, math.nan)
    return Comparison(len(a), unbounded, p, (smaller - larger) / len(a), "sign")
