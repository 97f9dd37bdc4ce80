"""Figure 4e: BHerd with and without random reshuffling, and its controls likewise."""

from bherd.experiments import style
from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import CASES, Beside, Case, Curve, Step, beside, make_curve
from bherd.experiments.panels import Line, grid_of_cases
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale, Workload

CAPTION = (
    "α=0.5, mean and 95% band over seeds. Coloured: a new order of samples every epoch; "
    "black dashes with marks: one order for the whole run."
)
COLUMNS = (
    "BHerd, equation step",
    "BHerd, amplified step",
    "all gradients, step × 2",
    "random half, amplified step",
)


def bherd(workload: Workload, case: Case, step: Step, reshuffle: float) -> Curve:
    """BHerd-FedAvg with a new order every epoch, or with one order."""
    return make_curve(workload, case, "bherd-fedavg", step=step, reshuffle=bool(reshuffle))


def columns(scale: Scale, case: Case, reshuffle: bool) -> Beside:
    """A curve for each column: BHerd at both steps and the controls of the longer one."""
    return beside(scale.svm, lambda step: bherd(scale.svm, case, step, reshuffle))


def curves(scale: Scale) -> list[Curve]:
    return [c for case in CASES for reshuffle in (True, False) for c in columns(scale, case, reshuffle)]


def draw(results: Results) -> list[Drawing]:
    if not any(results.has(curve) for curve in curves(results.scale)):
        return []
    groups: list[list[Line]] = [[] for _ in COLUMNS]
    for number, case in enumerate(CASES):
        colour, mark, name = style.SEQUENCE[number + 1], style.SEQUENCE_MARKERS[number], style.case_of(case)
        for group, curve in zip(groups, columns(results.scale, case, True), strict=True):
            group.append(Line(curve, f"{name}, reshuffled", colour, "", 2.8, "-", 3))
        for group, curve in zip(groups, columns(results.scale, case, False), strict=True):
            group.append(Line(curve, f"{name}, fixed order", "#000000", mark, 1.0, (0, (4, 2)), 4))
    title = f"4e · reshuffling · {results.terms(results.scale.svm, curves(results.scale))}"
    return [Drawing("4e", grid_of_cases(results, groups, COLUMNS, title, CAPTION))]


EXPERIMENT = Experiment("4e", "Reshuffling", curves, draw)
