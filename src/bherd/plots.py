"""Pictures of comparisons, with matplotlib."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType

from bherd.many.compare import Curve, Row
from bherd.statistics import band

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C8C8C")
"""Okabe and Ito's colours, which people with any colour vision can tell apart."""
DASHES: tuple[LineStyleType, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1, 1, 1, 1, 1)),
    (0, (8, 2)),
    (0, (3, 1)),
    (0, (1, 1)),
)


def plot_comparison(rows: Sequence[Row], path: Path, *, title: str, target: float | None = None) -> Path:
    """Training loss and test accuracy by round, means with 95% bands over seeds."""
    figure = Figure(figsize=(10, 4.4), layout="constrained", dpi=150)
    losses, accuracies = figure.subplots(1, 2)
    handles = []
    for number, row in enumerate(rows):
        colour, dashes = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        _band(losses, [(c, c.train_loss) for c in row.curves], colour, dashes)
        accuracy = [(c, [100 * a for a in c.accuracy]) for c in row.curves]
        handles.append(_band(accuracies, accuracy, colour, dashes))
    losses.set(xlabel="round", ylabel="training loss")
    accuracies.set(xlabel="round", ylabel="test accuracy (%)")
    if target is not None:
        accuracies.axhline(100 * target, color="0.6", linewidth=0.8, linestyle=(0, (2, 2)))
    for axes in (losses, accuracies):
        axes.grid(visible=True, color="0.92")
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize="medium")
    figure.legend(handles, [row.label for row in rows], loc="outside lower center", ncols=2, frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    return path


def _band(
    axes: Axes,
    curves: Sequence[tuple[Curve, Sequence[float | None]]],
    colour: str,
    dashes: LineStyleType,
) -> Line2D:
    """Draw one method's mean and band over the rounds that all of its runs have; return the line."""
    shortest = min(len(values) for _, values in curves)
    rounds = curves[0][0].rounds[:shortest]
    found = band(np.array([values[:shortest] for _, values in curves], dtype=np.float64))
    (line,) = axes.plot(rounds, found.mean, linewidth=1.6, color=colour, linestyle=dashes)
    axes.fill_between(rounds, found.low, found.high, color=colour, alpha=0.15, linewidth=0)
    return line
