"""Figure 4d: the distance of the kept gradients' mean from the mean of all, client by client."""

import numpy as np

from bherd.statistics import Floats
from paper import style
from paper.experiment import Drawing, Experiment
from paper.grid import CASES, STEPS, Case, Curve, Step, make_curve, with_selector
from paper.panels import draw_band, finish, sheet, whole_rounds
from paper.results import Results
from paper.scales import Scale

WINDOW = 25
CAPTION = (
    "‖mean of the kept − mean of all‖ of a client's local gradients over the same of a random half of them, "
    f"in the same client and round (α = 0.5, fixed order; the random half's is a running mean over {WINDOW} "
    "rounds). "
    "1, dotted, is as far off as a random half; gradients shrink over the rounds, so both distances fall, "
    "and their ratio shows what herding does. Mean over {seeds} seeds; band: BHerd's 95% interval over the "
    "random half's mean."
)


def pair(scale: Scale, case: Case, step: Step) -> tuple[Curve, Curve]:
    """BHerd and its random control."""
    bherd = make_curve(scale.svm, case, "bherd-fedavg", step=step)
    return bherd, with_selector(scale.svm, bherd, "random")


def curves(scale: Scale) -> list[Curve]:
    return [curve for case in CASES for step in STEPS for curve in pair(scale, case, step)]


def running_mean(values: Floats, window: int = WINDOW) -> Floats:
    """The mean of as many values around each as there are, `window` at most."""
    half = window // 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    first = np.maximum(np.arange(len(values)) - half, 0)
    last = np.minimum(np.arange(len(values)) + half + 1, len(values))
    found: Floats = (sums[last] - sums[first]) / (last - first)
    return found


def draw(results: Results) -> list[Drawing]:
    if not all(curve.key in results.distances for curve in curves(results.scale)):
        return []
    figure, axes = sheet(len(STEPS), len(CASES), height=2.4, share_y="all", share_x=True)
    for row, step in enumerate(STEPS):
        for column, case in enumerate(CASES):
            panel = axes[row][column]
            bherd, control = pair(results.scale, case, step)
            reference = results.distances.get(control.key, {})
            for client, band in results.distances.get(bherd.key, {}).items():
                if client not in reference:
                    continue
                length = min(len(band.mean), len(reference[client].mean))
                rounds = np.arange(1, length + 1)
                chance = running_mean(reference[client].mean[:length].astype(np.float64))
                colour = style.OTHERS[client]
                panel.plot(
                    rounds,
                    band.mean[:length] / chance,
                    color=colour,
                    linewidth=1.2,
                    label=f"client {client + 1}",
                    marker=style.SEQUENCE_MARKERS[client],
                    markersize=4,
                    markevery=(client * length // 40, max(1, length // 7)),
                )
                draw_band(panel, rounds, band.low[:length] / chance, band.high[:length] / chance, colour)
            panel.axhline(1, linestyle=":", color="#444444", linewidth=1.2)
            panel.set_ylim(0, 1.1)
            if row == 0:
                panel.set_title(style.case_of(case), fontsize=10)
            whole_rounds(panel)
        axes[row][0].set_ylabel(f"{step} step\ndistance over a\nrandom half's")
    for panel in axes[-1]:
        panel.set_xlabel("round")
    shown = curves(results.scale)
    title = f"4d · distance of the kept mean from the mean | {results.terms(results.scale.svm, shown)}"
    caption = CAPTION.format(seeds=results.seed_range(shown))
    finish(figure, [one for row in axes for one in row], title, caption, columns=5)
    return [Drawing("4d", figure)]


EXPERIMENT = Experiment("4d", "Distance of the kept mean from the mean", curves, draw)
