"""BHerd on the CNN at smaller learning rates (ours).

The CNN figures give every method FedAvg's largest stable rate. A method that wants a smaller one would
lose there for no other reason, so this experiment tries the next two below for BHerd and its controls.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bherd.experiments import style
from bherd.experiments.eta import workloads
from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import CASES, Case, Curve, beside, make_curve
from bherd.experiments.panels import draw_line, finish, head, log_loss, sheet, styled
from bherd.experiments.results import Results
from bherd.experiments.scales import LADDER, Scale, Workload
from bherd.experiments.statistics import Interval
from bherd.experiments.tables import ConfigurationRow
from bherd.experiments.verdict import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CAPTION = (
    "Mean and 95% interval over seeds; the other figures have the largest of these rates. "
    "Solid: step lengthened by 1/α; dashed: the step of the paper's equation.\nFedAvg reshuffles every "
    "epoch; BHerd and the controls of the longer step (FedAvg with a fixed order, random share) do not."
)


class Rivals(NamedTuple):
    """BHerd at both steps, and what it is measured by."""

    fedavg: Curve
    equation: Curve
    amplified: Curve
    longer: Curve
    random: Curve


def rates(workload: Workload) -> tuple[float, ...]:
    """The problem's own rate, after the two below it."""
    return tuple(rate for rate in LADDER if rate <= workload.lr)[-3:]


def rivals(workload: Workload, case: Case, rate: float) -> Rivals:
    """The curves at one rate."""
    four = beside(workload, lambda step: make_curve(workload, case, "bherd-fedavg", step=step, lr=rate))
    return Rivals(make_curve(workload, case, "fedavg", lr=rate), *four)


def curves(scale: Scale) -> list[Curve]:
    return [c for w in workloads(scale) for rate in rates(w) for case in CASES for c in rivals(w, case, rate)]


def draw(results: Results) -> list[Drawing]:
    return [_sheet(results, workload) for workload in workloads(results.scale) if _was_run(results, workload)]


def _was_run(results: Results, workload: Workload) -> bool:
    return results.has(*rivals(workload, "case1", rates(workload)[0]))


def _sheet(results: Results, workload: Workload) -> Drawing:
    figure, axes = sheet(2, len(CASES))
    for column, case in enumerate(CASES):
        above, below = axes[0][column], axes[1][column]
        groups = [rivals(workload, case, rate) for rate in rates(workload)]
        _over_rates(above, results, groups, _area)
        _over_rates(below, results, groups, _accuracy)
        head(above, style.case_of(case), results, [styled(curve) for group in groups for curve in group])
        log_loss(above, [np.array([_area(row).mean for row in _rows(results, groups)])])
        _limit_accuracy(below, [_accuracy(row) for row in _rows(results, groups)])
        above.set(ylabel="mean training loss")
        below.set(xlabel="learning rate $\\eta$", ylabel="final test accuracy (%)")
        for panel in (above, below):
            panel.set_xticks(range(len(groups)), [f"{rate:g}" for rate in rates(workload)])
    every = [c for case in CASES for rate in rates(workload) for c in rivals(workload, case, rate)]
    title = f"rates · BHerd at smaller learning rates, α=0.5 · {results.terms(workload, every)}"
    finish(figure, [one for row in axes for one in row], title, CAPTION)
    return Drawing(f"rates-{workload.name}", figure)


def _over_rates(
    axes: "Axes",
    results: Results,
    groups: Sequence[Rivals],
    quantity: Callable[[ConfigurationRow], Interval],
) -> None:
    """A quantity of every method over the rates, the methods a little apart so that intervals can be seen."""
    for number, across in enumerate(zip(*groups, strict=True)):
        line = styled(across[0])
        places = [place for place, curve in enumerate(across) if results.has(curve)]
        if not places:
            continue
        found = [quantity(results.configurations[across[place].key]) for place in places]
        mean, low, high = zip(*found, strict=True)
        x = [place + 0.06 * (number - 2) for place in places]
        draw_line(axes, line._replace(marker=line.marker or "s"), x, mean)
        axes.vlines(x, low, high, color=line.colour, linewidth=1.0, zorder=line.layer - 0.5)


def _rows(results: Results, groups: Sequence[Rivals]) -> list[ConfigurationRow]:
    found = [results.configurations.get(curve.key) for group in groups for curve in group]
    return [row for row in found if row is not None]


def _limit_accuracy(axes: "Axes", found: Sequence[Interval]) -> None:
    """No accuracy lies beyond 0 and 100, whatever the intervals of few seeds say."""
    ends = [end for one in found for end in one if math.isfinite(end)]
    if ends:
        axes.set_ylim(max(-1.0, min(ends) - 1), min(101.0, max(ends) + 1))


def _area(row: ConfigurationRow) -> Interval:
    return Interval(row.area, row.area_low, row.area_high)


def _accuracy(row: ConfigurationRow) -> Interval:
    return Interval(100 * row.final_accuracy, 100 * row.final_accuracy_low, 100 * row.final_accuracy_high)


def rate_table(results: Results) -> str:
    """BHerd against FedAvg and against its controls at each rate; nothing where it was not run."""
    lines = []
    for workload in workloads(results.scale):
        for case in CASES if _was_run(results, workload) else ():
            for rate in rates(workload):
                found = rivals(workload, case, rate)
                compared = [
                    results.compare(found.equation, found.fedavg),
                    results.compare(found.amplified, found.fedavg),
                    results.compare(found.amplified, found.longer),
                    results.compare(found.amplified, found.random),
                ]
                cells = " | ".join(percent(one) for one in compared)
                lines.append(
                    f"| {workload.title} | {style.case_of(case)} | {rate:g} | {cells} | {compared[0].n} |"
                )
    if not lines:
        return ""
    title = [
        "| problem | case | η | equation against FedAvg | amplified against FedAvg "
        "| amplified against all gradients at the same step | against a random half at the same step | n |",
        "|---|---|---|---|---|---|---|---|",
    ]
    return "\n".join(title + lines)


EXPERIMENT = Experiment("rates", "BHerd on the CNN at smaller learning rates", curves, draw)
