"""Figures 3a-3d share a form: one setting varied, BHerd at both steps and the two controls below."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bherd.statistics import Floats
from paper import style
from paper.experiment import Drawing, Experiment
from paper.grid import CASES, Beside, Case, Curve, Step, beside
from paper.panels import (
    LABELS,
    Line,
    Quantity,
    draw_lines,
    finish,
    limit_accuracy,
    limit_loss,
    sheet,
    tell_cut,
)
from paper.results import Results
from paper.scales import Scale, Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CAPTION = (
    "Mean and 95% interval over {seeds} seeds; all with a fixed order. A row is a method, a colour a value: "
    "where the rows below look like the second, the speed comes from the length of the step and not from the "
    "choice of gradients.{rest}"
)
RESTLESS = (
    "Training loss at {symbol} = {value:g}, mean over {seeds} seeds, on one logarithmic axis. Line: mean "
    "over "
    "{window} rounds; filled: from the lowest to the highest of them, for where the loss goes up and down "
    "from round to round it would be a black block."
)
ROWS = ("BHerd, equation step", "BHerd, amplified step", "FedAvg, same step", "random, same step")
WINDOW = 25


class Sweep(NamedTuple):
    """A setting and the values it takes."""

    figure: str
    symbol: str
    title: str
    values: Callable[[Workload], Sequence[float]]
    bherd: Callable[[Workload, Case, Step, float], Curve]
    """BHerd's curve at one value."""
    apart: float | None = None
    """A value that runs away, and is drawn on a sheet of its own."""


def sweep_experiment(sweep: Sweep) -> Experiment:
    """The sweep as one of the figures."""
    return Experiment(sweep.figure, sweep.title, partial(sweep_curves, sweep), partial(sweep_draw, sweep))


def sweep_curves(sweep: Sweep, scale: Scale) -> list[Curve]:
    """The whole grid."""
    return [
        curve
        for case in CASES
        for value in sweep.values(scale.svm)
        for curve in _rows(sweep, scale.svm, case, value)
    ]


def _rows(sweep: Sweep, workload: Workload, case: Case, value: float) -> Beside:
    """The four rows of the figure at one value."""
    return beside(workload, lambda step: sweep.bherd(workload, case, step, value))


def sweep_draw(sweep: Sweep, results: Results) -> list[Drawing]:
    """One sheet for the loss, one for the accuracy, and one for a value that runs away; none of half a
    sweep."""
    workload = results.scale.svm
    if not results.has(*sweep_curves(sweep, results.scale)):
        return []
    drawings = [_sheet(sweep, results, workload, "loss"), _sheet(sweep, results, workload, "accuracy")]
    if sweep.apart is not None:
        drawings.append(_alone(sweep, results, workload, sweep.apart))
    return drawings


def _sheet(sweep: Sweep, results: Results, workload: Workload, quantity: Quantity) -> Drawing:
    figure, axes = sheet(len(ROWS), len(CASES), height=1.9, share_y="all", share_x=True)
    every: list[Line] = []
    for column, case in enumerate(CASES):
        values = list(enumerate(sweep.values(workload)))
        grid = {value: _rows(sweep, workload, case, value) for _, value in values}
        for row in range(len(ROWS)):
            lines = [
                _line(grid[value][row], f"{sweep.symbol} = {value:g}", number)
                for number, value in values
                if value != sweep.apart
            ]
            draw_lines(axes[row][column], results, lines, quantity)
            every += lines
            axes[row][column].set_ylabel(
                f"{ROWS[row]}\n{LABELS[quantity]}" if column == 0 else "", fontsize=8.5
            )
        axes[0][column].set_title(style.case_of(case), fontsize=10)
        axes[-1][column].set_xlabel("round")
    panels = [panel for row in axes for panel in row]
    if quantity == "loss":
        limit_loss(panels, results, every)
    else:
        limit_accuracy(panels[0], results, every)
    for panel in panels:
        tell_cut(panel)
    terms = results.terms(workload, [line.curve for line in every])
    apart = f" {sweep.symbol} = {sweep.apart:g} has a figure of its own." if sweep.apart is not None else ""
    caption = CAPTION.format(seeds=results.seed_range(line.curve for line in every), rest=apart)
    finish(figure, panels, f"{sweep.figure} · influence of {sweep.symbol} | {terms}", caption, columns=5)
    return Drawing(f"{sweep.figure}-{quantity}", figure)


def _alone(sweep: Sweep, results: Results, workload: Workload, value: float) -> Drawing:
    """The loss at one value, as the range over a few rounds."""
    figure, axes = sheet(len(ROWS), len(CASES), height=1.7, share_y="all", share_x=True)
    shown = [curve for case in CASES for curve in _rows(sweep, workload, case, value)]
    for column, case in enumerate(CASES):
        for row, curve in enumerate(_rows(sweep, workload, case, value)):
            panel, found = axes[row][column], results.trajectories.get(curve.key)
            if found is not None:
                rounds, low, mean, high = ranges(found.rounds, found.loss.mean)
                panel.fill_between(rounds, low, high, color=style.SEQUENCE[1], alpha=0.3, linewidth=0)
                panel.plot(rounds, mean, color=style.SEQUENCE[1], linewidth=1.3)
            _plain_ticks(panel)
            panel.set_ylabel(f"{ROWS[row]}\ntraining loss" if column == 0 else "", fontsize=8.5)
        axes[0][column].set_title(style.case_of(case), fontsize=10)
        axes[-1][column].set_xlabel("round")
    caption = RESTLESS.format(
        symbol=sweep.symbol, value=value, seeds=results.seed_range(shown), window=WINDOW
    )
    title = f"{sweep.figure} · {sweep.symbol} = {value:g} | {results.terms(workload, shown)}"
    finish(figure, [], title, caption)
    return Drawing(f"{sweep.figure}-smallest", figure)


def _plain_ticks(panel: "Axes") -> None:
    """A logarithmic axis with ticks that read as numbers."""
    from matplotlib.ticker import LogLocator, NullLocator

    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter("{x:g}")


def ranges(rounds: Floats, values: Floats, window: int = WINDOW) -> tuple[Floats, Floats, Floats, Floats]:
    """The middle of every stretch of rounds with its lowest, mean and highest value."""
    edges = np.arange(0, len(values), window)
    sizes = np.diff([*edges, len(values)])
    middle: Floats = np.add.reduceat(np.asarray(rounds, dtype=np.float64), edges) / sizes
    mean: Floats = np.add.reduceat(np.asarray(values, dtype=np.float64), edges) / sizes
    return middle, np.minimum.reduceat(values, edges), mean, np.maximum.reduceat(values, edges)


def _line(curve: Curve, label: str, number: int) -> Line:
    return Line(curve, label, style.SEQUENCE[number], style.SEQUENCE_MARKERS[number], 1.4, "-", 3 + number)
