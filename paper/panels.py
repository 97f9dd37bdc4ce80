"""The pieces that several figures are put together from: the sheet, curves with their bands, the caption."""

import math
import statistics
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from paper import style
from paper.grid import Curve
from paper.results import Results, Trajectory
from paper.tables import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Quantity = Literal["loss", "accuracy"]
WIDTH = 8.3
"""Inches: a hundred pixels each on a page that is 830 pixels wide, where a point is then 1.4 pixels."""
BAND_POINTS = 80
"""About so many points of a band are drawn: more cannot be seen."""
CLEAR, FAINT, FEW_SEEDS = 0.18, 0.07, 10
"""How dense a band is; with fewer seeds it is so wide that it must be faint for the curves to be seen."""
LABELS: dict[Quantity, str] = {"loss": "training loss", "accuracy": "test accuracy (%)"}
NOTE = "#444444"


class Line(NamedTuple):
    """A curve as it is to be drawn."""

    curve: Curve
    label: str
    colour: str
    marker: str
    width: float
    dashes: object
    layer: int


def styled(curve: Curve, label: str | None = None) -> Line:
    """A line in its method's own look."""
    look = style.look_of(curve)
    text = style.label_of(curve) if label is None else label
    return Line(curve, text, look.colour, look.marker, look.width, style.dashes_of(curve), look.layer)


def sheet(
    rows: int,
    columns: int,
    *,
    height: float = 2.3,
    share_y: Literal["none", "row", "all"] = "none",
    share_x: bool = False,
) -> "tuple[Figure, list[list[Axes]]]":
    """An empty figure as wide as a page, with a grid of panels and room for a legend and a caption below."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, sharey=share_y, sharex=share_x)
    return figure, [list(row) for row in axes]


def draw_lines(axes: "Axes", results: Results, lines: Sequence[Line], quantity: Quantity) -> None:
    """Curves with their bands; a cross where a method's first run diverged."""
    for number, line in enumerate(lines):
        found = results.trajectories.get(line.curve.key)
        if found is None or len(found.rounds) == 0:
            continue
        factor = 100.0 if quantity == "accuracy" else 1.0
        band = found.accuracy if quantity == "accuracy" else found.loss
        draw_line(axes, line, found.rounds, factor * band.mean, places=(number, len(lines)))
        row = results.configurations[line.curve.key]
        density = FAINT if row.n < FEW_SEEDS else CLEAR
        draw_band(
            axes, found.rounds, factor * band.low, factor * band.high, line.colour, line.layer - 0.5, density
        )
        if row.diverged:
            axes.plot(
                found.rounds[-1], factor * band.mean[-1], "x", color=line.colour, markersize=9, zorder=9
            )
    axes.set_ylabel(LABELS[quantity])
    whole_rounds(axes)


def whole_rounds(axes: "Axes") -> None:
    """Few ticks, at whole rounds."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))


def draw_line(
    axes: "Axes",
    line: Line,
    x: Sequence[float] | Column,
    y: Sequence[float] | Column,
    *,
    places: tuple[int, int] = (0, 1),
) -> None:
    """Values in a line's own look; of so many lines, this one, which decides where its marks are."""
    number, count = places
    spacing = max(1, len(x) // 8)
    axes.plot(
        x,
        y,
        color=line.colour,
        linestyle=line.dashes,
        linewidth=line.width,
        marker=line.marker or None,
        markersize=4,
        markevery=(number * spacing // max(1, count), spacing),
        label=line.label,
        zorder=line.layer,
    )


def draw_band(
    axes: "Axes",
    rounds: Sequence[int] | Column,
    low: Column,
    high: Column,
    colour: str,
    layer: float = 1.0,
    density: float = CLEAR,
) -> None:
    """The band around a curve, by not more points than one can see."""
    thin = slice(None, None, max(1, len(rounds) // BAND_POINTS))
    axes.fill_between(
        rounds[thin], low[thin], high[thin], color=colour, alpha=density, linewidth=0, zorder=layer
    )


def known(results: Results, lines: Sequence[Line]) -> list[Trajectory]:
    """Those of the curves that have any round to show."""
    found = [results.trajectories.get(line.curve.key) for line in lines]
    return [one for one in found if one is not None and len(one.rounds)]


def limit_accuracy(axes: "Axes", results: Results, lines: Sequence[Line]) -> None:
    """Leave out the first rounds' climb, and say so."""
    means = [found.accuracy.mean for found in known(results, lines)]
    if means:
        low = 100 * min(float(mean[len(mean) // 20 :].min()) for mean in means)
        high = 100 * max(float(mean.max()) for mean in means)
        room = 0.08 * (high - low) + 0.1
        axes.set_ylim(max(0.0, low - room), min(100.0, high + room))


def limit_loss(panels: "Sequence[Axes]", results: Results, lines: Sequence[Line], room: float = 1.6) -> None:
    """One scale for the panels, that a curve which runs away does not flatten the others."""
    means = [found.loss.mean for found in known(results, lines)]
    if means:
        low = min(float(mean.min()) for mean in means)
        starts = [float(mean[0]) for mean in means]
        high = max(min(max(starts), 1.5 * statistics.median(starts)), room * low)
        for axes in panels:
            axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))


def tell_cut(axes: "Axes") -> None:
    """Say in a panel that curves leave it at the top or at the bottom, where they do."""
    low, high = axes.get_ylim()
    shown = [np.asarray(line.get_ydata(), dtype=np.float64) for line in axes.get_lines()]
    values = np.concatenate(shown) if shown else np.array([])
    sides = [side for side, cut in (("above", values > high), ("below", values < low)) if cut.any()]
    if sides:
        note(axes, f"cut off {' and '.join(sides)}", (0.98, 0.96 if sides == ["above"] else 0.06))


def note(axes: "Axes", text: str, place: tuple[float, float] = (0.98, 0.96)) -> None:
    """A remark inside a panel."""
    axes.annotate(
        text,
        place,
        xycoords="axes fraction",
        ha="right",
        va="top" if place[1] > 0.5 else "bottom",
        fontsize=8,
        color=NOTE,
        style="italic",
        zorder=20,
    )


def lost(results: Results, lines: Sequence[Line]) -> list[str]:
    """Which of the curves have runs that diverged, in words."""
    rows = [(line.label, results.configurations.get(line.curve.key)) for line in lines]
    return [f"{label}: {row.diverged} of {row.n} diverged" for label, row in rows if row and row.diverged]


def plain_log(axes: "Axes", values: Column) -> None:
    """A logarithmic y-axis around these values, with ticks that read as numbers."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_yscale("log")
    finite = values[np.isfinite(values) & (values > 0)]
    if len(finite):
        low, high = 0.7 * float(finite.min()), 1.5 * float(finite.max())
        axes.set_ylim(low, high)
        decades = math.log10(high / low)
        subs = (1.0, 2.0, 5.0) if decades < 1.5 else (1.0, 3.0) if decades < 3 else (1.0,)
        axes.yaxis.set_major_locator(LogLocator(subs=subs))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:g}")


def finish(figure: "Figure", panels: "Sequence[Axes]", title: str, caption: str, columns: int = 3) -> None:
    """Title above, one legend for all panels and the caption below, where they cover nothing."""
    from matplotlib.lines import Line2D

    handles: dict[str, Line2D] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if isinstance(handle, Line2D):
                handles.setdefault(label, handle)
    first, _, rest = title.partition(" | ")
    figure.suptitle(f"{first}\n{rest}" if rest else first, fontsize=11)
    text = textwrap.fill(caption, 122)
    if not handles:
        figure.supxlabel(text, fontsize=9, color=NOTE)
        return
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=columns,
        handlelength=2.8,
        columnspacing=1.4,
        fontsize=9,
        title=text,
        title_fontproperties={"size": 9},
    )
