"""Figure 4d: the distance of the kept gradients' mean from the mean of all, client by client."""

from bherd.experiments import style
from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import CASES, STEPS, Case, Curve, Step, make_curve, with_selector
from bherd.experiments.panels import draw_band, finish, sheet
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale

CAPTION = (
    "‖mean of the kept − mean of all‖ of a client's local gradients (α=0.5, fixed order), "
    "mean and 95% band over seeds; dotted: a random half of the gradients, mean over the clients."
)


def pair(scale: Scale, case: Case, step: Step) -> tuple[Curve, Curve]:
    """BHerd and its random control."""
    bherd = make_curve(scale.svm, case, "bherd-fedavg", step=step)
    return bherd, with_selector(scale.svm, bherd, "random")


def curves(scale: Scale) -> list[Curve]:
    return [curve for case in CASES for step in STEPS for curve in pair(scale, case, step)]


def draw(results: Results) -> list[Drawing]:
    if not any(curve.key in results.distances for curve in curves(results.scale)):
        return []
    figure, axes = sheet(len(STEPS), len(CASES))
    for row, step in enumerate(STEPS):
        for column, case in enumerate(CASES):
            panel = axes[row][column]
            bherd, control = pair(results.scale, case, step)
            for client, band in results.distances.get(bherd.key, {}).items():
                rounds = range(1, len(band.mean) + 1)
                colour = style.SEQUENCE[client]
                panel.plot(
                    rounds,
                    band.mean,
                    color=colour,
                    linewidth=1.3,
                    label=f"client {client + 1}",
                    marker=style.SEQUENCE_MARKERS[client],
                    markersize=4,
                    markevery=max(1, len(band.mean) // 7),
                )
                draw_band(panel, rounds, band.low, band.high, colour)
            reference = list(results.distances.get(control.key, {}).values())
            if reference:
                length = min(len(band.mean) for band in reference)
                mean = sum(band.mean[:length] for band in reference) / len(reference)
                panel.plot(range(1, length + 1), mean, ":", color="#666666", label="random half")
            panel.set_yscale("log")
            panel.set_title(f"{style.case_of(case)}, {step} step", fontsize=9)
        axes[row][0].set_ylabel("distance (log scale)")
    for panel in axes[-1]:
        panel.set_xlabel("round")
    terms = results.terms(results.scale.svm, curves(results.scale))
    title = f"4d · distance of the kept mean from the mean · {terms}"
    finish(figure, [one for row in axes for one in row], title, CAPTION, columns=6)
    return [Drawing("4d", figure)]


EXPERIMENT = Experiment("4d", "Distance of the kept mean from the mean", curves, draw)
