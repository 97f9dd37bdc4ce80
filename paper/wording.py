"""Effects for people: a difference with its interval first, then in a word what the interval says."""

import math

from bherd.statistics import LEVEL, Difference

TENFOLD = 9.0
"""Relative differences that may be larger are printed as ratios."""


def percent(found: Difference) -> str:
    """A relative difference: −12.3% [−12.6, −12.0], or × 25 [3.1, 202] if it may be tenfold."""
    if found.seeds == 0:
        return "–"
    mean, low, high = found.interval[:3]
    if found.test == "sign":
        if found.mean == 0:
            return "diverged or worse in as many seeds as the other"
        worse = "diverged or worse in more seeds"
        return (
            f"{worse if found.mean > 0 else 'the other diverged or was worse in more seeds'}, p={found.p:.2g}"
        )
    if math.isnan(low):
        return f"{signed(100 * mean)}%"
    if max(mean, high) >= TENFOLD:
        return times(found)
    return f"{signed(100 * mean)}% [{signed(100 * low)}, {signed(100 * high)}]"


def times(found: Difference) -> str:
    """A ratio with its interval: × 25 [3.1, 202]."""
    if found.test != "t" or math.isnan(found.error):
        return percent(found)
    ratio, least, most = (_short(1 + value) for value in found.interval[:3])
    return f"× {ratio} [{least}, {most}]"


def relation(found: Difference, margin: float) -> str:
    """What the 95% interval of a relative difference in area says: equal, faster, slower or undecided."""
    if found.test == "sign":
        shown = found.p < LEVEL and found.mean != 0
        return ("slower" if found.mean > 0 else "faster") if shown else "undecided"
    low, high = found.interval[1:3]
    if -margin < low and high < margin:
        return "equal"
    return "faster" if high < -margin else "slower" if low > margin else "undecided"


def signed(value: float) -> str:
    """A number with its sign and a real minus; a zero has neither."""
    digits = 2 if abs(value) < 1 else 1 if abs(value) < 100 else 0
    text = f"{value:+.{digits}f}"
    return "0.00" if float(text) == 0 else text.replace("-", "−")


def p_value(p: float) -> str:
    """p = 0.013, or p < 0.0001."""
    return "–" if math.isnan(p) else "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def effect(value: float, *, is_ratio: bool) -> str:
    """An effect without its interval: −12.3%, × 25."""
    if math.isinf(value):
        return "diverged" if value > 0 else "the other diverged"
    return f"× {_short(1 + value)}" if is_ratio or value >= TENFOLD else f"{signed(100 * value)}%"


def _short(value: float) -> str:
    return f"{value:.2g}" if value < 99.5 else f"{value:.0f}"
