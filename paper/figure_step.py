"""The step figure, ours: what selection itself buys, once the length of the step is the same for all.

For α in 0.3, 0.5, 0.7 and both steps: BHerd, a random share, the share that herding ranks last, and
FedAvg with all gradients, all with the same step length, the same fixed order and the same seeds.
"""

from paper import style
from paper.bounds import MARGIN
from paper.experiment import Drawing, Experiment
from paper.forest import Effect, draw_percent
from paper.grid import (
    CASES,
    STEPS,
    Case,
    Curve,
    Step,
    make_curve,
    plain_at_same_step,
    with_selector,
)
from paper.panels import finish, sheet
from paper.results import Results
from paper.scales import Scale

ALPHAS = (0.3, 0.5, 0.7)
CAPTION = (
    "Area under the training-loss curve against that of FedAvg with all gradients, at the same step length, "
    "in the same fixed order and with the same seeds, so that only the choice of gradients differs: paired "
    "difference in per cent with its 95% interval; left of 0 is faster than FedAvg. One scale for all "
    "panels. Filled: step lengthened by 1/α; hollow: the step of the paper's equation. {margin}"
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
    shown = curves(results.scale)
    if not results.has(*shown):
        return []
    every = [effect for case in CASES for alpha in ALPHAS for effect in effects(results, case, alpha)]
    ends = [100 * abs(end) for one in every for end in one.difference.interval[1:3] if end == end]
    widest, percent = max(ends, default=1.0), 100 * MARGIN
    far = widest > percent
    figure, axes = sheet(len(ALPHAS), len(CASES), height=2.0, share_y="row", share_x=True)
    for row, alpha in enumerate(ALPHAS):
        for column, case in enumerate(CASES):
            draw_percent(axes[row][column], effects(results, case, alpha), MARGIN if far else None)
            axes[row][column].set_ylabel(f"α = {alpha:g}" if column == 0 else "", fontsize=11)
            if row == 0:
                axes[row][column].set_title(style.case_of(case), fontsize=10)
    axes[-1][1].set_xlabel("difference in loss area (%), left is faster")
    axes[0][0].set_xlim(-1.1 * widest, 1.1 * widest)
    where = (
        "the grey band"
        if far
        else f"which is {percent / widest:.0f} times as wide as the whole of this scale"
    )
    margin = f"What lies within ±{percent:g}%, {where}, counts as equal."
    title = f"step · what the choice of gradients buys | {results.terms(results.scale.svm, shown)}"
    finish(figure, [], title, CAPTION.format(margin=margin))
    return [Drawing("step", figure)]


def effects(results: Results, case: Case, alpha: float) -> list[Effect]:
    """Each selector's area under the loss curve against FedAvg's at the same step."""
    found = []
    for step in STEPS:
        plain, *others = group(results.scale, case, alpha, step)
        for curve in reversed(others):
            look = style.look_of(curve)
            label = f"{style.name_of(curve).removesuffix('-FedAvg')}, {step}"
            difference = results.compare(curve, plain)
            found.append(Effect(label, difference, look.colour, look.marker, style.is_longer(curve)))
    return found


EXPERIMENT = Experiment("step", "What the choice of gradients buys at the same step length", curves, draw)
