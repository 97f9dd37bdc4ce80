"""Statistics over seeds: intervals, paired differences, rounds to a target, and who is ahead.

Equal seeds are pairs: a seed decides the partition, the orders and the start of every method alike. So two
methods are compared seed by seed, with Student's t. Quantities that vary by factors (losses, rounds, times)
are compared by their logarithms: a ratio and its inverse then count alike.

Lost runs. A run that diverged, or that never reached a target, is worse than every run that did not, and has
no number to average. Its value is infinite: +inf where less is better (a loss, rounds to a target), -inf
where more is better (an accuracy). A mean is taken over the finite values and says how many were lost. A
paired comparison with a lost run is a sign test over all pairs: it has no interval and never says 'equal'.

Many comparisons. `together` corrects a family of comparisons by Holm's method, and widens each interval to
the level at which its comparison was tested. So a word and the interval beside it never disagree.

Three words. `verdict` says ahead (or behind), equal within a named margin, or undecided. What is not shown to
differ is undecided, not equal; and fewer than `FEWEST_SEEDS` seeds decide nothing.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

LEVEL = 0.05
"""The chance that is allowed of finding a difference where there is none, over a whole family."""
FEWEST_SEEDS = 3
"""With fewer seeds nothing is called ahead or equal."""
ACCURACY_MARGIN = 0.005
"""Accuracies within half a percentage point of each other are equal in practice."""
_NO_SPREAD = 1e-13

Floats = npt.NDArray[np.float64]
Word = Literal["ahead", "behind", "equal", "undecided"]


class Interval(NamedTuple):
    """A mean over seeds and its confidence interval, whose ends are NaN for fewer than two seeds."""

    mean: float
    low: float
    high: float
    samples: int
    """Finite values, over which the mean is."""
    lost: int = 0
    """Values that were not finite: runs that diverged or never reached the target."""

    @property
    def half_width(self) -> float:
        """Half of the interval's width; what stands behind ± where the interval is symmetric."""
        return (self.high - self.low) / 2


class Band(NamedTuple):
    """Means and the ends of their intervals, point by point along a curve."""

    mean: Floats
    low: Floats
    high: Floats


class Reach(NamedTuple):
    """How long it took to reach a target, over runs of which some may never have reached it."""

    median: float
    """Over all runs; infinite where half of them or more never got there."""
    low: float
    high: float
    """Of the runs that reached it."""
    reached: int
    runs: int


@dataclass(frozen=True)
class Difference:
    """A against B over the same seeds: A - B, or A / B - 1 where logarithms are compared."""

    seeds: int
    mean: float
    """On the scale that is tested: of A - B or of log(A / B); infinite where runs were lost."""
    error: float
    """The standard error of that mean; NaN for one seed and for the sign test."""
    p: float
    """Two-sided; NaN where nothing can be tested."""
    effect: float
    """Cohen's d on the tested scale; for the sign test the share of seeds with A larger less the share with A
    smaller."""
    test: Literal["t", "sign", "none"]
    ratio: bool = False
    """Whether log(A / B) is tested."""
    level: float = LEVEL
    """The level at which it is tested; one less it is the confidence of the interval."""

    @property
    def interval(self) -> Interval:
        """The mean difference with its interval; of A / B - 1 for ratios."""
        half = self.error * quantile(self.seeds, 1 - self.level) if self.seeds > 1 else math.nan
        ends = (self.mean, self.mean - half, self.mean + half)
        mean, low, high = (_exp(end, math.expm1) for end in ends) if self.ratio else ends
        return Interval(mean, low, high, self.seeds)

    def reversed(self) -> "Difference":
        """B against A."""
        return replace(self, mean=-self.mean, effect=-self.effect)


def interval(values: Sequence[float] | Floats, confidence: float = 1 - LEVEL) -> Interval:
    """Mean and Student's interval of independent values, one per seed; those that are not finite are lost."""
    finite = [float(value) for value in values if math.isfinite(value)]
    lost = len(values) - len(finite)
    if not finite:
        return Interval(math.nan, math.nan, math.nan, 0, lost)
    mean, error = _moments(finite)
    half = error * quantile(len(finite), confidence) if len(finite) > 1 else math.nan
    return Interval(mean, mean - half, mean + half, len(finite), lost)


def geometric_interval(values: Sequence[float] | Floats, confidence: float = 1 - LEVEL) -> Interval:
    """Geometric mean and its interval: that of the logarithms, taken back. Values must be positive."""
    found = interval([_log(value) for value in values], confidence)
    return found._replace(mean=_exp(found.mean), low=_exp(found.low), high=_exp(found.high))


def band(values: Floats, *, geometric: bool = False, confidence: float = 1 - LEVEL) -> Band:
    """The interval of each column of `values`, whose rows are seeds.

    Args:
        values: one row per seed, one column per point of the curve.
        geometric: average logarithms, for what is drawn on a logarithmic axis.
        confidence: of each point's interval.

    Returns:
        Means and ends; the ends are NaN for fewer than two seeds, and drawn as no band at all.
    """
    kind = geometric_interval if geometric else interval
    columns = [kind(column, confidence)[:3] for column in values.T]
    return Band(*np.array(columns, dtype=np.float64).reshape(-1, 3).T)


def paired(a_by_seed: Mapping[int, float], b_by_seed: Mapping[int, float]) -> Difference:
    """A - B over the seeds that both have; a lost run makes it a sign test."""
    return _paired(a_by_seed, b_by_seed, lambda a, b: a - b, ratio=False)


def paired_ratio(a_by_seed: Mapping[int, float], b_by_seed: Mapping[int, float]) -> Difference:
    """A / B - 1 over the seeds that both have, by log(A / B); values must be positive."""
    return _paired(a_by_seed, b_by_seed, lambda a, b: _log(a) - _log(b), ratio=True)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given; a NaN was not tested, stays NaN and does not count."""
    adjusted = [math.nan] * len(p_values)
    highest = 0.0
    for index, others in _by_size(p_values):
        highest = max(highest, min(1.0, others * p_values[index]))
        adjusted[index] = highest
    return adjusted


def together(differences: Sequence[Difference], level: float = LEVEL) -> list[Difference]:
    """The same comparisons as one family, each at the level at which Holm's method tests it.

    A difference is then significant at its own level exactly where Holm's adjusted p is at most `level`.
    """
    found = list(differences)
    stopped = None
    for index, others in _by_size([difference.p for difference in found]):
        own = stopped or level / others
        if stopped is None and found[index].p > own:
            stopped = own
        found[index] = replace(found[index], level=own)
    return found


def verdict(difference: Difference, margin: float, fewest: int = FEWEST_SEEDS) -> Word:
    """Whether A is ahead of B (larger), behind, equal within the margin, or undecided.

    Args:
        difference: A against B, from `together` where there is more than one comparison.
        margin: what is no difference in practice, in the units of the difference's interval.
        fewest: with fewer seeds it is undecided.

    Returns:
        'equal' where the whole interval lies within the margin, even if it leaves out zero; 'ahead' or
        'behind' where the difference is significant; else 'undecided'.
    """
    found = difference.interval
    if found.samples < fewest:
        return "undecided"
    if -margin <= found.low and found.high <= margin:
        return "equal"
    if difference.p <= difference.level and difference.mean != 0:
        return "ahead" if difference.mean > 0 else "behind"
    return "undecided"


def rounds_to(
    rounds: Sequence[float] | Floats, values: Sequence[float | None] | Floats, target: float
) -> float:
    """The first of `rounds` (or seconds, or bytes) at which the value is at least the target, or infinity."""
    for at, value in zip(rounds, values, strict=True):
        if value is not None and value >= target:
            return float(at)
    return math.inf


def reach(firsts: Sequence[float]) -> Reach:
    """Median and range of what `rounds_to` gave, run by run; never counts as longer than any."""
    hits = sorted(first for first in firsts if math.isfinite(first))
    if not hits:
        return Reach(math.inf, math.inf, math.inf, 0, len(firsts))
    ranked = hits + [math.inf] * (len(firsts) - len(hits))
    middle = len(ranked) // 2
    median = ranked[middle] if len(ranked) % 2 else (ranked[middle - 1] + ranked[middle]) / 2
    return Reach(median, hits[0], hits[-1], len(hits), len(firsts))


def common_target(finals: Sequence[float]) -> float:
    """The highest whole percent of accuracy that every method ends at, given their final accuracies.

    Methods that end more than a tenth below the best do not count; without any, it is one half.
    """
    known = [final for final in finals if math.isfinite(final)]
    near = [final for final in known if final >= 0.9 * max(known)]
    return math.floor(100 * min(near) + 1e-9) / 100 if near else 0.5


def _paired(
    a: Mapping[int, float], b: Mapping[int, float], less: Callable[[float, float], float], *, ratio: bool
) -> Difference:
    pairs = [(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())]
    if not pairs:
        return Difference(0, math.nan, math.nan, math.nan, math.nan, "none", ratio)
    if not all(math.isfinite(value) for pair in pairs for value in pair):
        return _by_sign(pairs, ratio)
    return _by_t([less(first, second) for first, second in pairs], ratio)


def _by_t(values: list[float], ratio: bool) -> Difference:
    count = len(values)
    mean, error = _moments(values)
    if count == 1:
        return Difference(1, mean, math.nan, math.nan, math.nan, "none", ratio)
    if error * math.sqrt(count) <= _NO_SPREAD * abs(mean):
        p, effect = (0.0, math.copysign(math.inf, mean)) if mean else (1.0, 0.0)
        return Difference(count, mean, 0.0, p, effect, "t", ratio)
    from scipy.special import stdtr

    p = 2 * float(stdtr(count - 1, -abs(mean) / error))
    return Difference(count, mean, error, p, mean / error / math.sqrt(count), "t", ratio)


def _by_sign(pairs: Sequence[tuple[float, float]], ratio: bool) -> Difference:
    larger, smaller = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    decided, least = larger + smaller, min(larger, smaller)
    p = min(1.0, 2 * math.fsum(math.comb(decided, k) for k in range(least + 1)) / 2**decided)
    mean = 0.0 if larger == smaller else math.copysign(math.inf, larger - smaller)
    return Difference(len(pairs), mean, math.nan, p, (larger - smaller) / len(pairs), "sign", ratio)


def _moments(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error (NaN for one value)."""
    count = len(values)
    mean = math.fsum(values) / count
    if count == 1:
        return mean, math.nan
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return mean, math.sqrt(variance / count)


def quantile(count: int, confidence: float = 1 - LEVEL) -> float:
    """Student's two-sided quantile for the mean of `count` values."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    return float(stdtrit(count - 1, 0.5 + confidence / 2))


def _by_size(p_values: Sequence[float]) -> list[tuple[int, int]]:
    """The positions of the p-values from the smallest, each with how many there are from it on."""
    order = sorted((i for i, p in enumerate(p_values) if not math.isnan(p)), key=lambda i: p_values[i])
    return [(index, len(order) - rank) for rank, index in enumerate(order)]


def _log(value: float) -> float:
    if value <= 0:
        raise ValueError(
            f"value = {value}: must be positive to have a logarithm. Use the arithmetic version."
        )
    return math.log(value)


def _exp(value: float, power: Callable[[float], float] = math.exp) -> float:
    return math.inf if value > math.log(np.finfo(np.float64).max) else power(value)
