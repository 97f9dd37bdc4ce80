"""The pieces that several figures are put together from."""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from bherd.experiments import style
from bherd.experiments.experiment import Drawing
from bherd.experiments.grid import CASES, Case, Curve
from bherd.experiments.results import Results, Trajectory
from bherd.experiments.scales import Workload
from bherd.experiments.tables import Column

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Quantity = Literal["loss", "accuracy"]
BAND_POINTS = 80
"""About so many points of a band are drawn: more would only make the files larger."""
CLEAR, FAINT, FEW_SEEDS = 0.18, 0.05, 10
"""How dense a band is; with fewer seeds it is so wide that it must be faint for the curves to be seen."""
LABELS: dict[Quantity, str] = {"loss": "training loss", "accuracy": "test accuracy (%)"}


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
    look = style.look_of(curve.config)
    text = style.label_of(curve.config) if label is None else label
    return Line(curve, text, look.colour, look.marker, look.width, style.dashes_of(curve.config), look.layer)


def sheet(
    rows: int, columns: int, *, width: float = 3.3, height: float = 2.4
) -> "tuple[Figure, list[list[Axes]]]":
    """An empty figure with a grid of panels and room for a legend and a caption below."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, [list(row) for row in axes]


def draw_lines(axes: "Axes", results: Results, lines: Sequence[Line], quantity: Quantity) -> None:
    """Curves with their bands; a cross where a method's first run diverged."""
    from matplotlib.ticker import MaxNLocator

    for number, line in enumerate(lines):
        found = results.trajectories.get(line.curve.key)
        if found is None or len(found.rounds) == 0:
            continue
        factor = 100.0 if quantity == "accuracy" else 1.0
        band = found.accuracy if quantity == "accuracy" else found.loss
        spacing = max(1, len(found.rounds) // 8)
        marks = (number * spacing // max(1, len(lines)), spacing)
        draw_line(axes, line, found.rounds, factor * band.mean, markevery=marks)
        few = results.configurations[line.curve.key].n < FEW_SEEDS
        draw_band(
            axes,
            found.rounds,
            factor * band.low,
            factor * band.high,
            line.colour,
            line.layer - 0.5,
            FAINT if few else CLEAR,
        )
        if results.configurations[line.curve.key].diverged:
            axes.plot(
                found.rounds[-1], factor * band.mean[-1], "x", color=line.colour, markersize=9, zorder=9
            )
    axes.set_ylabel(LABELS[quantity])
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    if quantity == "accuracy":
        _limit_accuracy(axes, results, lines)


def draw_line(
    axes: "Axes",
    line: Line,
    x: Sequence[float] | Column,
    y: Sequence[float] | Column,
    *,
    markevery: tuple[int, int] | None = None,
) -> None:
    """Values in a line's own look."""
    axes.plot(
        x,
        y,
        color=line.colour,
        linestyle=line.dashes,
        linewidth=line.width,
        marker=line.marker or None,
        markersize=4,
        markevery=markevery,
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
    alpha: float = CLEAR,
) -> None:
    """The band around a curve, by not more points than one can see."""
    thin = slice(None, None, max(1, len(rounds) // BAND_POINTS))
    axes.fill_between(
        rounds[thin], low[thin], high[thin], color=colour, alpha=alpha, linewidth=0, zorder=layer
    )


def _limit_accuracy(axes: "Axes", results: Results, lines: Sequence[Line]) -> None:
    """Leave out the first rounds' climb, and what bands of few seeds have beyond 0 and 100."""
    means = [found.accuracy.mean for found in _trajectories(results, lines)]
    if means:
        low = 100 * min(float(mean[len(mean) // 20 :].min()) for mean in means)
        high = 100 * max(float(mean.max()) for mean in means)
        room = 0.08 * (high - low) + 0.1
        axes.set_ylim(max(0.0, low - room), min(100.0, high + room))


def head(axes: "Axes", title: str, results: Results, lines: Sequence[Line]) -> None:
    """The title of a column of panels and, below it, which of its runs diverged."""
    rows = [(line.label, results.configurations.get(line.curve.key)) for line in lines]
    lost = [f"{label}: {row.diverged} of {row.n} diverged" for label, row in rows if row and row.diverged]
    axes.set_title(title, fontsize=9, pad=6 + 9 * len(lost))
    if lost:
        axes.annotate(
            "\n".join(lost),
            (0.5, 1.0),
            (0, 3),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=6.5,
            color="#444444",
        )


def _trajectories(results: Results, lines: Sequence[Line]) -> list[Trajectory]:
    """Those of the curves that have any round to show."""
    found = [results.trajectories.get(line.curve.key) for line in lines]
    return [one for one in found if one is not None and len(one.rounds)]


def limit_loss(panels: "Sequence[Axes]", results: Results, lines: Sequence[Line], room: float = 1.6) -> None:
    """One scale for the panels, that a curve which runs away does not flatten the others."""
    means = [found.loss.mean for found in _trajectories(results, lines)]
    if means:
        low = min(float(mean.min()) for mean in means)
        starts = [float(mean[0]) for mean in means]
        high = max(min(max(starts), 1.5 * statistics.median(starts)), room * low)
        for axes in panels:
            axes.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))


def log_loss(axes: "Axes", means: Sequence[Column]) -> None:
    """A logarithmic scale that shows all of these losses, those of runs that run away as well."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_yscale("log")
    finite = np.concatenate([mean[np.isfinite(mean)] for mean in means]) if means else np.array([])
    if len(finite):
        low, high = 0.8 * float(finite.min()), 1.25 * float(finite.max())
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
    figure.suptitle(title, fontsize=11)
    if not handles:
        figure.supxlabel(caption, fontsize=7.5, color="#444444")
        return
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=columns,
        handlelength=3.2,
        fontsize=8,
        title=caption,
        title_fontsize=7.5,
    )


def grid_of_cases(
    results: Results,
    lines: Sequence[Sequence[Line]],
    titles: Sequence[str],
    title: str,
    caption: str,
    *,
    log: bool = False,
) -> "Figure":
    """Two rows, loss and accuracy; a column for each group of lines. `log`: losses by their logarithm."""
    figure, axes = sheet(2, len(lines))
    for column, group in enumerate(lines):
        draw_lines(axes[0][column], results, group, "loss")
        draw_lines(axes[1][column], results, group, "accuracy")
        head(axes[0][column], titles[column], results, group)
        axes[1][column].set_xlabel("round")
        if log:
            log_loss(axes[0][column], [one.loss.mean for one in _trajectories(results, group)])
        else:
            limit_loss([axes[0][column]], results, group)
    finish(figure, [one for row in axes for one in row], title, caption)
    return figure


def draw_cases(
    results: Results,
    workload: Workload,
    curves_of: Callable[[Case], list[Curve]],
    name: str,
    title: str,
    caption: str,
) -> list[Drawing]:
    """The three cases of a problem side by side, methods in their own colours; nothing without results."""
    groups = [curves_of(case) for case in CASES]
    every = [curve for group in groups for curve in group]
    if not any(results.has(curve) for curve in every):
        return []
    lines = [[styled(curve) for curve in group] for group in groups]
    titles = [style.case_of(case) for case in CASES]
    title = f"{title} · {results.terms(workload, every)}"
    figure = grid_of_cases(results, lines, titles, title, caption, log=workload.model == "cnn")
    return [Drawing(f"{name}-{workload.name}", figure)]
