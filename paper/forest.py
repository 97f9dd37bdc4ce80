"""Effects with their intervals, one below the other, and single seeds as dots."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bherd.statistics import Difference, geometric_interval
from paper.panels import NOTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EQUAL_COLOUR = "#eeeeee"


class Effect(NamedTuple):
    """One row: an effect in some method's look."""

    label: str
    difference: Difference
    colour: str
    marker: str
    filled: bool
    seeds: tuple[float, ...] = ()
    """The ratio of every seed, for dots; infinite where the run is lost, 0 where that of the other is."""


def draw_percent(axes: "Axes", effects: Sequence[Effect], margin: float | None = None) -> None:
    """Relative differences in per cent with their 95% intervals, the first on top; the margin as a grey
    band."""
    if margin is not None:
        axes.axvspan(-100 * margin, 100 * margin, color=EQUAL_COLOUR, zorder=0, linewidth=0)
    axes.axvline(0, color=NOTE, linewidth=1.0, zorder=1)
    for place, effect in enumerate(effects):
        if effect.difference.test == "t":
            mean, low, high = (100 * value for value in effect.difference.interval[:3])
            _dot(axes, effect, place, mean, low, high)
    _rows(axes, effects)


def ratio_ends(effects: Sequence[Effect]) -> tuple[float, float]:
    """Where lost runs are drawn: beyond all others."""
    finite = [value for effect in effects for value in effect.seeds if 0 < value < math.inf]
    return min([*finite, 1.0]) / 2, 2 * max([*finite, 1.0])


def draw_ratios(axes: "Axes", effects: Sequence[Effect], ends: tuple[float, float]) -> None:
    """Ratios on a logarithmic axis: every seed, and their geometric mean with the interval of the logarithms.

    Where a seed is lost there is no mean: then the median is drawn, without an interval, and the lost seed
    is a cross at the end of the axis.
    """
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_xscale("log")
    axes.axvline(1, color=NOTE, linewidth=1.0, zorder=1)
    low, high = ends
    for place, effect in enumerate(effects):
        for value in effect.seeds:
            lost = not 0 < value < math.inf
            at = min(max(value, low), high)
            mark, size = ("x", 6) if lost else (".", 5)
            axes.plot(at, place + 0.25, mark, color=effect.colour, markersize=size, alpha=0.8, zorder=3)
        if all(0 < value < math.inf for value in effect.seeds):
            _dot(axes, effect, place, *geometric_interval(effect.seeds)[:3])
        else:
            median = min(max(float(np.median(effect.seeds)), low), high)
            axes.plot(median, place, "|", color=effect.colour, markersize=12, markeredgewidth=2.5, zorder=5)
    axes.set_xlim(low / 1.5, high * 1.5)
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:g}")
    _rows(axes, effects)


def _dot(axes: "Axes", effect: Effect, place: int, mean: float, low: float, high: float) -> None:
    axes.errorbar(
        mean,
        place,
        xerr=[[mean - low], [high - mean]],
        fmt=effect.marker or "D",
        color=effect.colour,
        capsize=3,
        markersize=5,
        mfc=effect.colour if effect.filled else "white",
        zorder=6,
    )


def _rows(axes: "Axes", effects: Sequence[Effect]) -> None:
    axes.set_yticks(range(len(effects)), [effect.label for effect in effects], fontsize=8.5)
    axes.set_ylim(len(effects) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
