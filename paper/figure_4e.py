"""Figure 4e: BHerd with and without random reshuffling, and its controls likewise."""

from paper import style
from paper.experiment import Drawing, Experiment
from paper.grid import CASES, Beside, Case, Curve, Step, beside, make_curve
from paper.panels import Line, draw_line, finish, sheet, whole_rounds
from paper.results import Results
from paper.scales import Scale, Workload
from paper.wording import percent

CAPTION = (
    "With a new order of samples in every epoch, against one order for the whole run: difference of the "
    "means "
    "over {seeds} seeds, of the training loss (above) and of the test accuracy (below); one scale in a row. "
    "α = 0.5. Paired differences of the loss areas with their 95% intervals, BHerd with the equation's step: "
    "{areas}; all within ±1% counts as equal."
)
COLUMNS = (
    "BHerd,\nequation step",
    "BHerd,\namplified step",
    "all gradients,\nstep × 2",
    "random half,\namplified step",
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
    if not results.has(*curves(results.scale)):
        return []
    figure, axes = sheet(2, len(COLUMNS), height=2.3, share_y="row", share_x=True)
    for number, case in enumerate(CASES):
        pairs = zip(columns(results.scale, case, True), columns(results.scale, case, False), strict=True)
        for column, (shuffled, fixed) in enumerate(pairs):
            mark = style.SEQUENCE_MARKERS[number]
            line = Line(shuffled, style.case_of(case), style.OTHERS[number], mark, 1.3, "-", 3 + number)
            new, old = (results.trajectories[curve.key] for curve in (shuffled, fixed))
            loss = 100 * (new.loss.mean / old.loss.mean - 1)
            accuracy = 100 * (new.accuracy.mean - old.accuracy.mean)
            for row, values in enumerate((loss, accuracy)):
                draw_line(axes[row][column], line, new.rounds, values, places=(number, len(CASES)))
    for column, name in enumerate(COLUMNS):
        axes[0][column].set_title(name, fontsize=9.5)
        axes[1][column].set_xlabel("round")
        whole_rounds(axes[1][column])
        for row in (0, 1):
            axes[row][column].axhline(0, color="#444444", linewidth=1.0, zorder=1)
    axes[0][0].set_ylabel("training loss,\ndifference (%)")
    axes[1][0].set_ylabel("test accuracy,\ndifference (points)")
    title = f"4e · reshuffling | {results.terms(results.scale.svm, curves(results.scale))}"
    found = [
        (columns(results.scale, case, True)[0], columns(results.scale, case, False)[0]) for case in CASES
    ]
    areas = "; ".join(percent(results.compare(*pair)) for pair in found)
    caption = CAPTION.format(seeds=results.seed_range(curves(results.scale)), areas=areas)
    finish(figure, [one for row in axes for one in row], title, caption)
    return [Drawing("4e", figure)]


EXPERIMENT = Experiment("4e", "Reshuffling", curves, draw)
