"""Figures 3a-3d share a form: one setting varied, BHerd at both steps and the two controls below."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bherd.experiments import style
from bherd.experiments.experiment import Drawing
from bherd.experiments.grid import CASES, Beside, Case, Curve, Step, beside
from bherd.experiments.panels import LABELS, Line, Quantity, draw_lines, finish, head, limit_loss, sheet
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale, Workload

CAPTION = (
    "Mean and 95% band over seeds; all with a fixed order. A row is a method, a colour a value: where the "
    "rows below look like the second,\nthe speed comes from the length of the step "
    "and not from the choice of gradients."
)
ROWS = ("BHerd, equation step", "BHerd, amplified step", "FedAvg, same step", "random, same step")


class Sweep(NamedTuple):
    """A setting and the values it takes."""

    figure: str
    symbol: str
    values: Callable[[Workload], Sequence[float]]
    bherd: Callable[[Workload, Case, Step, float], Curve]
    """BHerd's curve at one value."""


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
    """One sheet for the loss, one for the accuracy."""
    workload = results.scale.svm
    if not any(results.has(curve) for curve in sweep_curves(sweep, results.scale)):
        return []
    return [_sheet(sweep, results, workload, "loss"), _sheet(sweep, results, workload, "accuracy")]


def _sheet(sweep: Sweep, results: Results, workload: Workload, quantity: Quantity) -> Drawing:
    figure, axes = sheet(len(ROWS), len(CASES), height=2.0)
    for column, case in enumerate(CASES):
        grid = [_rows(sweep, workload, case, value) for value in sweep.values(workload)]
        every: list[Line] = []
        for row in range(len(ROWS)):
            lines = [
                _line(curves[row], f"{sweep.symbol} = {value:g}", number)
                for number, (value, curves) in enumerate(zip(sweep.values(workload), grid, strict=True))
            ]
            draw_lines(axes[row][column], results, lines, quantity)
            every += lines
            head(axes[row][column], style.case_of(case) if row == 0 else "", results, lines)
            axes[row][column].set_ylabel(f"{ROWS[row]}\n{LABELS[quantity]}" if column == 0 else "")
        panels = [axes[row][column] for row in range(len(ROWS))]
        if quantity == "loss":
            limit_loss(panels, results, every)
        axes[-1][column].set_xlabel("round")
    terms = results.terms(workload, sweep_curves(sweep, results.scale))
    title = f"{sweep.figure} · influence of {sweep.symbol} · {terms}"
    finish(figure, [one for row in axes for one in row], title, CAPTION, columns=5)
    return Drawing(f"{sweep.figure}-{quantity}", figure)


def _line(curve: Curve, label: str, number: int) -> Line:
    return Line(curve, label, style.SEQUENCE[number], style.SEQUENCE_MARKERS[number], 1.4, "-", 3 + number)
