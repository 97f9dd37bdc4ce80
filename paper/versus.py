"""Figures 2a and 2b share a form: methods against the plain server, in the three cases of a problem.

On the SVM all curves lie on two lines, so the figure shows differences: over the rounds as the paper has
them, and below as areas with the order and the step alike. On the CNN losses differ by factors of hundreds
and some runs diverge, so it has every seed's ratio of areas, on a logarithmic axis, and the accuracies.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from paper import style
from paper.experiment import Drawing
from paper.forest import Effect, draw_percent, draw_ratios, ratio_ends
from paper.grid import (
    CASES,
    STEPS,
    Case,
    Curve,
    make_curve,
    plain_at_same_step,
    with_selector,
)
from paper.panels import draw_line, draw_lines, finish, known, note, sheet, styled, whole_rounds
from paper.results import Results
from paper.scales import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHANCE = 0.1
"""The accuracy of guessing among ten labels."""
INFORMATIVE = 1.5
"""A panel in which no federated method ends above so many times chance says nothing about them."""
ORDERS = "{plain}{central} reshuffled in every epoch, as the paper says; all others keep their order. "
ON_SVM = (
    "Above: how far the mean training loss over {seeds} seeds lies from that of {plain}, reshuffled, round "
    "by round. "
    + ORDERS
    + "Solid: step lengthened by 1/α, dashed: the step of the paper's equation. Below: area "
    "under BHerd's loss curve with the order and the step of its rival, so that selection alone differs: "
    "paired difference and its 95% interval. Anything within ±1% counts as equal."
)
ON_CNN = (
    "Above: area under the loss curve over that of {plain}, reshuffled, right of 1 is slower. Dots: seeds "
    "(the "
    "same seed for both); crosses at the ends: the run diverged (right), or that of {plain} did (left; at 1: "
    "both). Markers: geometric mean with the 95% interval of "
    "the logarithms; a bar is the median, where runs diverged. "
    + ORDERS
    + "Against {plain}, reshuffled, order "
    "and selection differ at once{missing}. Below: mean test accuracy and its 95% interval over {seeds} "
    "seeds; dotted: guessing; a cross ends a curve where the first of its runs diverged."
)


def draw_versus(
    results: Results, workload: Workload, curves_of: Callable[[Case], list[Curve]], name: str, title: str
) -> list[Drawing]:
    """The three cases of a problem side by side; nothing without results."""
    groups = [[curve for curve in curves_of(case) if results.has(curve)] for case in CASES]
    every = [curve for group in groups for curve in group]
    if not every:
        return []
    on_cnn = workload.model == "cnn"
    height = 3.0 if on_cnn else 2.6
    figure, axes = sheet(2, len(CASES), height=height, share_y="row")
    ratios = [
        _ratios(results, group, _plain(workload, case, group))
        for case, group in zip(CASES, groups, strict=True)
    ]
    ends = ratio_ends([effect for effects in ratios for effect in effects])
    for column, (case, group) in enumerate(zip(CASES, groups, strict=True)):
        plain = _plain(workload, case, group)
        above, below = axes[0][column], axes[1][column]
        above.set_title(style.case_of(case), fontsize=10)
        if on_cnn:
            draw_ratios(above, ratios[column], ends)
            above.set_xlabel("ratio of loss areas")
            _accuracies(below, results, group)
        else:
            _over_rounds(above, results, group, plain)
            draw_percent(below, _same_step(results, workload, case, plain.settings.server))
            below.set_xlabel("difference in loss area (%)")
        if column:
            for panel in (above, below):
                panel.set_ylabel("")
                panel.tick_params(labelleft=False)
    if on_cnn:
        highest = [float(found.accuracy.mean.max()) for found in known(results, [styled(c) for c in every])]
        axes[1][0].set_ylim(0, max(20.0, min(100.0, 110 * max(highest, default=1.0))))
    else:
        _one_scale(axes[1])
    plain_name = style.BASES[every[-1].settings.server]
    central = any(curve.settings.method == "centralized" for curve in every)
    fixed = [curve for curve in every if not curve.settings.selector]
    alone = any(not c.settings.reshuffle and c.settings.server_lr == 1 for c in fixed)
    caption = (ON_CNN if on_cnn else ON_SVM).format(
        plain=plain_name,
        central=" and centralized SGD are" if central else " is",
        seeds=results.seed_range(every),
        missing="" if alone else f"; {plain_name} in fixed order was not run at this step",
    )
    figure_title = f"{title} | {results.terms(workload, every)}"
    finish(figure, [one for row in axes for one in row], figure_title, caption, columns=3)
    return [Drawing(f"{name}-{workload.name}", figure)]


def _one_scale(panels: "list[Axes]") -> None:
    ends = [panel.get_xlim() for panel in panels]
    for panel in panels:
        panel.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))


def _over_rounds(axes: "Axes", results: Results, group: list[Curve], plain: Curve) -> None:
    """Mean losses relative to the plain method's."""
    base = results.trajectories[plain.key].loss.mean
    rivals = [styled(curve) for curve in group if curve.key != plain.key]
    axes.axhline(0, color="#444444", linewidth=1.0, zorder=1)
    for number, line in enumerate(rivals):
        found = results.trajectories[line.curve.key]
        length = min(len(base), len(found.rounds))
        difference = 100 * (found.loss.mean[:length] / base[:length] - 1)
        draw_line(axes, line, found.rounds[:length], difference, places=(number, len(rivals)))
    axes.set(xlabel="round", ylabel=f"loss against\n{style.label_of(plain)} (%)")
    whole_rounds(axes)


def _same_step(results: Results, workload: Workload, case: Case, server: str) -> list[Effect]:
    """BHerd (and GraB, whose step is FedAvg's) against controls that share its order and step."""
    effects = []
    for step in STEPS:
        bherd = make_curve(workload, case, f"bherd-{server}", step=step)
        rivals = [
            ("all", plain_at_same_step(workload, bherd)),
            ("random", with_selector(workload, bherd, "random")),
        ]
        effects += [_effect(results, bherd, rival, f"BHerd against {name}, {step}") for name, rival in rivals]
    if server == "fedavg":
        grab = make_curve(workload, case, "grab-fedavg")
        rival = make_curve(workload, case, "fedavg", reshuffle=False)
        effects.append(_effect(results, grab, rival, "GraB against all, equation"))
    return [effect for effect in effects if effect.difference.seeds]


def _effect(results: Results, a: Curve, b: Curve, label: str) -> Effect:
    look = style.look_of(a)
    ours, theirs = results.areas(a), results.areas(b)
    ratios = tuple(_ratio(ours[seed], theirs[seed]) for seed in sorted(ours.keys() & theirs.keys()))
    return Effect(label, results.compare(a, b), look.colour, look.marker, style.is_longer(a), ratios)


def _ratio(a: float, b: float) -> float:
    """A over B; 1 where both are lost."""
    return 1.0 if a == b else a / b


def _plain(workload: Workload, case: Case, group: list[Curve]) -> Curve:
    """The plain method, as the paper runs it."""
    return make_curve(workload, case, group[-1].settings.server if group else "fedavg")


def _ratios(results: Results, group: list[Curve], plain: Curve) -> list[Effect]:
    """Every method's area over the plain method's, seed by seed."""
    suffix = "-" + style.name_of(plain)
    return [
        _effect(results, curve, plain, style.label_of(curve).replace(suffix, ""))
        for curve in group
        if curve.key != plain.key
    ]


def _accuracies(axes: "Axes", results: Results, group: list[Curve]) -> None:
    """Test accuracies over the rounds from 0, with the chance line."""
    lines = [styled(curve) for curve in group]
    draw_lines(axes, results, lines, "accuracy")
    axes.axhline(100 * CHANCE, color="#444444", linestyle=":", linewidth=1.2, zorder=1)
    federated = [line for line in lines if line.curve.settings.method != "centralized"]
    ends = [float(found.accuracy.mean[-1]) for found in known(results, federated)]
    axes.set_xlabel("round")
    if ends and max(ends) < INFORMATIVE * CHANCE:
        note(axes, f"not informative: no federated\nmethod ends above {100 * INFORMATIVE * CHANCE:g}%")
