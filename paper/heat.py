"""Figures 4a-4c share a form: a map of the kept steps for each of the five clients, at both steps."""

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bherd.statistics import Floats
from paper.experiment import Drawing, Experiment
from paper.grid import STEPS, Case, Curve, make_curve
from paper.panels import finish, sheet
from paper.results import Heat, Results
from paper.scales import Scale
from paper.style import case_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 64
MOST_COLUMNS = 50
CAPTION = (
    "How often BHerd (α = 0.5, fixed order) kept the local steps: white never, black always. A cell is the "
    "mean "
    "over {steps} neighbouring steps and {rounds} rounds. Step 1 is at the top, as in the report. One run "
    "(seed 0), since every seed has an order of its own."
)


def heat_experiment(name: str, case: Case) -> Experiment:
    """The maps of one case as one of the figures."""
    title = f"Which steps were kept, {case}"
    return Experiment(name, title, partial(heat_curves, case), partial(heat_draw, name, case))


def heat_curves(case: Case, scale: Scale) -> list[Curve]:
    """BHerd at both steps."""
    return [make_curve(scale.svm, case, "bherd-fedavg", step=step) for step in STEPS]


def block_means(share: Floats, rows: int, columns: int) -> Floats:
    """The means of blocks of so many rows and columns; what is left over at the ends are smaller blocks."""
    down = np.arange(0, share.shape[0], rows)
    across = np.arange(0, share.shape[1], columns)
    sums = np.add.reduceat(np.add.reduceat(share, down, axis=0), across, axis=1)
    sizes = np.diff([*down, share.shape[0]])[:, None] * np.diff([*across, share.shape[1]])[None, :]
    means: Floats = sums / sizes
    return means


def heat_draw(name: str, case: Case, results: Results) -> list[Drawing]:
    """Clients from left to right, the two steps one above the other."""
    curves = heat_curves(case, results.scale)
    heats = [results.heats.get(curve.key, {}) for curve in curves]
    clients = max(map(len, heats))
    if clients == 0:
        return []
    every = [heat for maps in heats for heat in maps.values()]
    steps = math.ceil(max(heat.share.shape[1] for heat in every) / MOST_ROWS)
    stretches = math.ceil(max(heat.share.shape[0] for heat in every) / MOST_COLUMNS)
    figure, axes = sheet(len(curves), clients, height=3.4, share_x=True)
    for row, (curve, maps) in enumerate(zip(curves, heats, strict=True)):
        for client, heat in maps.items():
            _paint(axes[row][client], heat, results.scale.svm.rounds, steps, stretches)
            if row == 0:
                axes[row][client].set_title(f"client {client + 1}", fontsize=10)
            else:
                axes[row][client].set_xlabel("round")
        axes[row][0].set_ylabel(f"local step ({curve.settings.step} step)")
    title = f"{name} · which local steps BHerd keeps, {case_of(case)} | {results.scale.svm.title}"
    rounds = stretches * results.scale.svm.rounds // max(heat.share.shape[0] for heat in every)
    finish(figure, [], title, CAPTION.format(steps=steps, rounds=rounds))
    return [Drawing(name, figure)]


def _paint(panel: "Axes", heat: Heat, rounds: int, steps: int, stretches: int) -> None:
    from matplotlib.ticker import MaxNLocator

    panel.imshow(
        block_means(heat.share.T, steps, stretches),
        cmap="Greys",
        vmin=0,
        vmax=1,
        aspect="auto",
        origin="upper",
        extent=(0.5, rounds + 0.5, heat.share.shape[1] + 0.5, 0.5),
        interpolation="nearest",
    )
    panel.grid(visible=False)
    panel.xaxis.set_major_locator(MaxNLocator(2, integer=True))
    panel.tick_params(labelsize=8)
