"""Tests of a ratio against a bound: the parts that a claim rests on.

A part holds, or is refuted, by one paired test over the seeds, from `bherd.statistics`: of A / B against the
bound that the claim names. A two-sided p below 0.05 says that the 95% interval of A / B lies on one side of
the bound; the part holds on the claim's side and is refuted on the other.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

from scipy.special import stdtr

from bherd.statistics import Difference, paired_ratio
from paper.wording import percent, relation

MARGIN = 0.01
"""A difference of less than one per cent of the area under the loss curve is none in practice."""
BySeed = Mapping[int, float]


class Part(NamedTuple):
    """One comparison that a claim rests on."""

    case: str
    """'case 1', or '' where the claim is about no case."""
    what: str
    """Which of several comparisons in this case; '' for the only one."""
    text: str
    """The effect with its interval, for people."""
    difference: Difference
    met: float
    """p where the effect lies on the claim's side of its bound, else 1."""
    refuted: float
    """p where it lies on the other side, else 1."""
    is_ratio: bool = False
    """Whether the effect is read as a ratio, × 0.4, and not as a difference, −60%."""

    @property
    def n(self) -> int:
        """The seeds."""
        return self.difference.seeds


def above(a: BySeed, b: BySeed, bound: float) -> float:
    """The p of A / B > bound; 1 where it is not larger."""
    return _towards(paired_ratio(a, {seed: bound * value for seed, value in b.items()}), 1)


def below(a: BySeed, b: BySeed, bound: float) -> float:
    """The p of A / B < bound; 1 where it is not smaller."""
    return _towards(paired_ratio(a, {seed: bound * value for seed, value in b.items()}), -1)


def _towards(difference: Difference, sign: int) -> float:
    shown = sign * difference.mean > 0 and not math.isnan(difference.p)
    return difference.p if shown else 1.0


def faster(a: BySeed, b: BySeed, case: str = "", what: str = "") -> Part:
    """A's area is smaller than B's by more than the margin."""
    bound = 1 - MARGIN
    return _areas(a, b, case, what, below(a, b, bound), above(a, b, bound))


def equal(a: BySeed, b: BySeed, case: str = "", what: str = "") -> Part:
    """A's area and B's differ by less than the margin, either way."""
    low, high = 1 - MARGIN, 1 + MARGIN
    met = max(above(a, b, low), below(a, b, high))
    return _areas(a, b, case, what, met, min(below(a, b, low), above(a, b, high)))


def _areas(a: BySeed, b: BySeed, case: str, what: str, met: float, refuted: float) -> Part:
    found = paired_ratio(a, b)
    text = f"{percent(found)} ({relation(found, MARGIN)})" if found.seeds else "–"
    return Part(case, what, text, found, met, refuted)


def larger(a: BySeed, b: BySeed, bound: float, case: str = "", what: str = "", text: str = "") -> Part:
    """A is larger than `bound` times B."""
    found = paired_ratio(a, b)
    shown = text or percent(found)
    return Part(case, what, shown, found, above(a, b, bound), below(a, b, bound), True)


def from_error(seeds: int, mean: float, error: float) -> Difference:
    """A log ratio that comes with its standard error, as a paired difference."""
    p = 2 * float(stdtr(seeds - 1, -abs(mean) / error)) if seeds > 1 and error > 0 else math.nan
    effect = mean / error / math.sqrt(seeds) if error > 0 else math.nan
    return Difference(seeds, mean, error, p, effect, "t", ratio=True)


def against(found: Difference, bound: float, sign: int) -> tuple[float, float]:
    """The p-values that a ratio with its error is on one side of a bound, and on the other."""
    shifted = from_error(found.seeds, found.mean - math.log(bound), found.error)
    return _towards(shifted, sign), _towards(shifted, -sign)
