"""BHerd on the CNN at smaller learning rates (ours).

The CNN figures give every method FedAvg's largest stable rate. A method that wants a smaller one would
lose there for no other reason, so this experiment tries the next two below for BHerd and its controls.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from paper import style
from paper.dots import Series, draw_series, stripes
from paper.eta import workloads
from paper.experiment import Drawing, Experiment
from paper.grid import CASES, Case, Curve, beside, make_curve
from paper.panels import finish, plain_log, sheet, styled
from paper.results import Results
from paper.scales import LADDER, Scale, Workload
from paper.wording import percent

CAPTION = (
    "Every dot is a run of the seeds {seeds}, which all rates have (the largest rate has more, left out "
    "here); a "
    "cross at the upper edge diverged. Large marks: geometric mean of the losses, mean of the accuracies; "
    "the "
    "median where a run diverged. All marks on one stripe belong to its rate. No intervals: three seeds are "
    "shown "
    "best by themselves. Solid: step lengthened by 1/α; dashed: the step of the paper's equation. FedAvg, "
    "reshuffled, differs from the others in its order too. Dotted: guessing."
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


def common_seeds(results: Results, groups: Sequence[Rivals]) -> list[int]:
    """The seeds that every curve has: what is compared over the rates is compared over these."""
    found = [{row.seed for row in results.runs.get(c.key, [])} for group in groups for c in group]
    return sorted(set.intersection(*found)) if found else []


def _sheet(results: Results, workload: Workload) -> Drawing:
    figure, axes = sheet(2, len(CASES), height=2.6, share_y="row")
    grid = {case: [rivals(workload, case, rate) for rate in rates(workload)] for case in CASES}
    every = [group for groups in grid.values() for group in groups]
    seeds = common_seeds(results, every)
    for column, case in enumerate(CASES):
        above, below = axes[0][column], axes[1][column]
        for row, panel in enumerate((above, below)):
            stripes(panel, [f"{rate:g}" for rate in rates(workload)])
            for number, across in enumerate(zip(*grid[case], strict=True)):
                line = styled(across[0])
                values = [_values(results, curve, seeds, accuracy=row == 1) for curve in across]
                series = Series(line.label, line.colour, line.marker, line.dashes, values)
                draw_series(panel, number, len(Rivals._fields), series, geometric=row == 0)
        above.set_title(style.case_of(case), fontsize=10)
        below.set_xlabel("learning rate $\\eta$")
    areas = [results.areas(curve).get(seed, math.nan) for group in every for curve in group for seed in seeds]
    plain_log(axes[0][0], np.array(areas))
    axes[1][0].set_ylim(0, 100 if workload.name == "cnn-mnist" else 50)
    for panel in axes[1]:
        panel.axhline(10, color="#444444", linestyle=":", linewidth=1.2)
    axes[0][0].set_ylabel("mean training loss")
    axes[1][0].set_ylabel("final test accuracy (%)")
    terms = results.terms(workload, [curve for group in every for curve in group], len(seeds))
    title = f"rates · BHerd at smaller learning rates, α = 0.5 | {terms}"
    names = f"{seeds[0]} to {seeds[-1]}" if seeds else "none"
    finish(figure, [one for row in axes for one in row], title, CAPTION.format(seeds=names))
    return Drawing(f"rates-{workload.name}", figure)


def _values(results: Results, curve: Curve, seeds: Sequence[int], *, accuracy: bool) -> dict[int, float]:
    rows = [row for row in results.runs.get(curve.key, []) if row.seed in seeds]
    return {row.seed: 100 * row.final_accuracy if accuracy else row.area for row in rows}


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
                    f"| {workload.title} | {style.case_of(case)} | {rate:g} | {cells} | {compared[0].seeds} |"
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
