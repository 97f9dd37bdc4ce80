"""The step figure, ours: what selection itself buys, once the length of the step is the same for all.

For α in 0.3, 0.5, 0.7 and both steps: BHerd, a random share, the share that herding ranks last, and
FedAvg with all gradients, all with the same step length, the same fixed order and the same seeds.
"""

from typing import TYPE_CHECKING

from bherd.experiments import style
from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import (
    CASES,
    STEPS,
    Case,
    Curve,
    Step,
    make_curve,
    plain_at_same_step,
    with_selector,
)
from bherd.experiments.panels import draw_lines, finish, head, limit_loss, sheet, styled
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHAS = (0.3, 0.5, 0.7)
CAPTION = (
    "Above: mean and 95% band over seeds; solid: step lengthened by 1/α, dashed: the step of the equation; "
    "same fixed order and seeds for all, so only the choice of gradients differs.\nBelow: area under the "
    "loss curve relative to FedAvg at the same step, paired over seeds, with 95% interval; "
    "left of 0 is faster than FedAvg."
)


def group(scale: Scale, case: Case, alpha: float, step: Step) -> list[Curve]:
    """FedAvg, random, reversed and BHerd at one share and one step length."""
    bherd = make_curve(scale.svm, case, "bherd-fedavg", alpha=alpha, step=step)
    return [
        plain_at_same_step(scale.svm, bherd),
        with_selector(scale.svm, bherd, "random"),
        with_selector(scale.svm, bherd, "reversed"),
        bherd,
    ]


def curves(scale: Scale) -> list[Curve]:
    return [
        curve
        for alpha in (0.5, 0.3, 0.7)
        for case in CASES
        for step in STEPS
        for curve in group(scale, case, alpha, step)
    ]


def draw(results: Results) -> list[Drawing]:
    if not any(results.has(curve) for curve in curves(results.scale)):
        return []
    return [_sheet(results, case) for case in CASES]


def _sheet(results: Results, case: Case) -> Drawing:
    figure, axes = sheet(2, len(ALPHAS), height=2.8)
    for column, alpha in enumerate(ALPHAS):
        lines = [
            styled(curve, style.name_of(curve.config) + f", {step} step")
            for step in STEPS
            for curve in group(results.scale, case, alpha, step)
        ]
        draw_lines(axes[0][column], results, lines, "loss")
        limit_loss([axes[0][column]], results, lines)
        head(axes[0][column], f"α = {alpha:g}", results, lines)
        axes[0][column].set_xlabel("round")
        _forest(axes[1][column], results, case, alpha)
    shown = [c for alpha in ALPHAS for step in STEPS for c in group(results.scale, case, alpha, step)]
    terms = results.terms(results.scale.svm, shown)
    title = f"step · what the choice of gradients buys, {style.case_of(case)} · {terms}"
    finish(figure, axes[0], title, CAPTION, columns=4)
    return Drawing("step" if case == "case2" else f"step-{case}", figure)


def _forest(axes: "Axes", results: Results, case: Case, alpha: float) -> None:
    """Each selector's area under the loss curve against FedAvg's at the same step."""
    from matplotlib.ticker import MaxNLocator

    ticks, names = [], []
    place = 0
    for step in reversed(STEPS):
        plain, *others = group(results.scale, case, alpha, step)
        for curve in others:
            found = results.compare(curve, plain)
            look = style.look_of(curve.config)
            if found.n:
                mean, low, high = (100 * value for value in found.difference)
                axes.errorbar(
                    mean,
                    place,
                    xerr=[[mean - low], [high - mean]],
                    fmt=look.marker,
                    color=look.colour,
                    capsize=3,
                    markersize=5,
                    mfc=look.colour if step == "amplified" else "white",
                )
            ticks.append(place)
            names.append(f"{style.name_of(curve.config).removesuffix('-FedAvg')}, {step}")
            place += 1
    axes.axvline(0, color="#D55E00", linewidth=1.2)
    axes.set_yticks(ticks, names, fontsize=7.5)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.set_xlabel("loss area against FedAvg (%)")


EXPERIMENT = Experiment("step", "What the choice of gradients buys at the same step length", curves, draw)
