"""Figure 4e: BHerd with and without random reshuffling."""

from bherd.experiments import style
from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import CASES, STEPS, Case, Curve, Step, make_curve
from bherd.experiments.panels import Line, grid_of_cases
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale

CAPTION = (
    "BHerd-FedAvg, α=0.5, mean and 95% band over seeds. Coloured: a new order of samples every "
    "epoch; black dashes with marks: one order for the whole run."
)


def pair(scale: Scale, case: Case, step: Step) -> tuple[Curve, Curve]:
    """With and without reshuffling."""
    return (
        make_curve(scale.svm, case, "bherd-fedavg", step=step, reshuffle=True),
        make_curve(scale.svm, case, "bherd-fedavg", step=step, reshuffle=False),
    )


def curves(scale: Scale) -> list[Curve]:
    return [curve for case in CASES for step in STEPS for curve in pair(scale, case, step)]


def draw(results: Results) -> list[Drawing]:
    if not any(results.has(curve) for curve in curves(results.scale)):
        return []
    groups = []
    for step in STEPS:
        lines = []
        for number, case in enumerate(CASES):
            shuffled, fixed = pair(results.scale, case, step)
            colour = style.SEQUENCE[number + 1]
            name = style.case_of(case)
            lines.append(Line(shuffled, f"{name}, reshuffled", colour, "", 2.8, "-", 3))
            lines.append(
                Line(
                    fixed,
                    f"{name}, fixed order",
                    "#000000",
                    style.SEQUENCE_MARKERS[number],
                    1.0,
                    (0, (4, 2)),
                    4,
                )
            )
        groups.append(lines)
    title = f"4e · reshuffling · {results.terms(results.scale.svm, curves(results.scale))}"
    figure = grid_of_cases(results, groups, [f"{step} step" for step in STEPS], title, CAPTION)
    figure.set_size_inches(9.0, 5.6)
    return [Drawing("4e", figure)]


EXPERIMENT = Experiment("4e", "Reshuffling", curves, draw)
