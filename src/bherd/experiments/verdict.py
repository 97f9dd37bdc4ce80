"""Rules that turn numbers into verdicts. They are printed on the page that they make."""

import math
from dataclasses import dataclass
from typing import Literal

from bherd.experiments.statistics import Comparison

Verdict = Literal[
    "holds",
    "holds only with the amplified step",
    "holds only with the equation's step",
    "does not hold",
    "not testable at this scale",
]
MARGIN = 0.01
"""A difference below one per cent of the area under the loss curve is no difference in practice."""
LEVEL = 0.05
TENFOLD = 900.0
"""Differences that may be larger, in per cent, are printed as ratios."""
RULES = """\
- *Speed* is the area under the training-loss curve over all rounds (its mean height); smaller is faster.
  Differences are relative, A / B − 1, paired over the same seeds; their mean, interval and test are those of
  log(A / B), so that a seed in which one of the two blows up does not hide the others. Where A may be ten
  times B the ratio is printed: × 25 [3, 208] is a ratio of 25 with its interval.
- *A is faster than B* if the mean difference is below −1% and the paired test has p < 0.05 (t-test; a sign
  test where a run diverged, which counts as larger than any finite value). A claim about three cases needs
  all three.
- *A equals B* if the whole 95% interval of the difference lies within ±1%.
- *Fails to converge*: the run diverged, or the mean loss of its last tenth exceeds 1.1 times its lowest loss;
  in more than half of the runs.
- *Oscillation* is what the loss curve goes back and forth in its second half (total variation less net
  change, a round, relative to its height). *A oscillates more than B* if it is more than twice as large with
  p < 0.05, *less* if it is smaller with p < 0.05 (paired tests of the differences).
- *Concentration* is 0 if every step is kept equally often over the rounds and 1 if the same steps are kept in
  every round; steps concentrate if its 95% interval lies above 0.5 (a random choice has about 1/√T).
- The *distance* is small if it is below half of a random half's, and falls if its last tenth lies below its
  first tenth in every client.
- *holds* / *holds only with the amplified step* / *holds only with the equation's step* / *does not hold* say
  under which of the two step lengths the rule is met; *not testable at this scale* means that the runs are
  missing, or that there are fewer than three seeds.
"""
FEWEST_SEEDS = 3


@dataclass(frozen=True)
class Finding:
    """What was measured for one claim under one step: words, and whether the rule is met (None: not run)."""

    text: str
    met: bool | None
    n: int


@dataclass(frozen=True)
class Judged:
    """One row of the verdict table."""

    claim: str
    equation: Finding
    amplified: Finding
    verdict: Verdict
    scale: str
    control: str = ""
    """What the controls at the same step say."""

    @property
    def n(self) -> int:
        return max(self.equation.n, self.amplified.n)


NOT_RUN = Finding("–", None, 0)


def judge(equation: Finding, amplified: Finding, conclusive: bool) -> Verdict:
    """The verdict of two findings."""
    seeds = max(equation.n, amplified.n)
    if not conclusive or seeds < FEWEST_SEEDS or (equation.met is None and amplified.met is None):
        return "not testable at this scale"
    if equation.met and (amplified.met is None or amplified.met):
        return "holds"
    if equation.met:
        return "holds only with the equation's step"
    if amplified.met:
        return "holds" if equation.met is None else "holds only with the amplified step"
    return "does not hold"


def is_faster(found: Comparison) -> bool:
    """A's loss curve lies lower than B's, by more than the margin and beyond chance."""
    return found.n > 0 and found.difference.mean < -MARGIN and found.p < LEVEL


def is_equal(found: Comparison) -> bool:
    """The whole interval lies within the margin."""
    difference = found.difference
    return found.n > 0 and difference.low > -MARGIN and difference.high < MARGIN


def is_beyond(found: Comparison) -> bool:
    """A difference above 0, beyond chance."""
    return found.n > 0 and found.difference.mean > 0 and found.p < LEVEL


def percent(found: Comparison) -> str:
    """A relative difference for people: −12.3% [−12.6, −12.0], or × 25 [3.1, 202] if it may be tenfold."""
    if found.n == 0:
        return "–"
    mean, low, high = (100 * value for value in found.difference)
    if math.isinf(mean):
        words = "diverged or worse in more seeds" if mean > 0 else "the other diverged in more seeds"
        return f"{words}, p={found.p:.2g}"
    if found.test == "sign":
        return "diverged or worse in as many seeds as the other"
    if math.isnan(low):
        return f"{signed(mean)}%"
    if max(mean, high) >= TENFOLD:
        ratio, least, most = (_short(1 + value) for value in found.difference)
        return f"× {ratio} [{least}, {most}]"
    return f"{signed(mean)}% [{signed(low)}, {signed(high)}]"


def signed(value: float) -> str:
    """A number with its sign and a real minus."""
    digits = 2 if abs(value) < 1 else 1 if abs(value) < 100 else 0
    return f"{value:+.{digits}f}".replace("-", "−")


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"
