"""Single runs over a few learning rates: every seed a dot, beside the geometric mean."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bherd.statistics import Floats, geometric_interval, interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STRIPE = "#f4f4f4"


class Series(NamedTuple):
    """A method's runs: for each place on the axis the value of every seed, infinite or NaN where it is
    lost."""

    label: str
    colour: str
    marker: str
    dashes: object
    values: Sequence[dict[int, float]]


def stripes(axes: "Axes", names: Sequence[str]) -> None:
    """A name for each place, every other one on grey: what stands on one stripe belongs to one place."""
    for place in range(0, len(names), 2):
        axes.axvspan(place - 0.5, place + 0.5, color=STRIPE, zorder=0, linewidth=0)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)
    axes.grid(visible=False, axis="x")


def draw_series(
    axes: "Axes", number: int, count: int, series: Series, *, geometric: bool, hollow_from: int | None = None
) -> None:
    """One of so many series, a little beside the others: seeds as dots, joined at their centres.

    Args:
        axes: where `stripes` has been.
        number: which of the series this is.
        count: of how many.
        series: what is drawn. Lost runs are crosses at the upper edge; where there are any, the centre is
            the median and not the mean.
        geometric: whether the mean is that of logarithms.
        hollow_from: seeds from this one on are drawn hollow.
    """
    shift = 0.6 * (number - (count - 1) / 2) / max(1, count)
    centres = []
    for place, by_seed in enumerate(series.values):
        x = place + shift
        for seed, value in by_seed.items():
            lost = not math.isfinite(value)
            hollow = hollow_from is not None and seed >= hollow_from
            axes.plot(
                x,
                0.97 if lost else value,
                "x" if lost else "o",
                color=series.colour,
                mfc="white" if hollow else series.colour,
                markersize=6 if lost else 3.5,
                alpha=1.0 if lost or hollow else 0.75,
                transform=axes.get_xaxis_transform() if lost else axes.transData,
                zorder=4,
            )
        if by_seed:
            centres.append((x, centre(list(by_seed.values()), geometric=geometric)))
    finite = [(x, y) for x, y in centres if math.isfinite(y)]
    if finite:
        x_values, y_values = zip(*finite, strict=True)
        axes.plot(
            x_values,
            y_values,
            color=series.colour,
            linestyle=series.dashes,
            linewidth=1.2,
            marker=series.marker or "D",
            markersize=6.5,
            mfc="none",
            label=series.label,
            zorder=5,
        )


def centre(values: list[float], *, geometric: bool) -> float:
    """The mean, geometric or not; the median where a run is lost, which counts as larger than all others."""
    if not all(map(math.isfinite, values)):
        ranked: Floats = np.sort([math.inf if math.isnan(value) else value for value in values])
        return float(ranked[len(ranked) // 2])
    return (geometric_interval(values) if geometric else interval(values)).mean
