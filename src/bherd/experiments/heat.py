"""Figures 4a-4c share a form: a map of the kept steps for each of the five clients, at both steps."""

from bherd.experiments.experiment import Drawing
from bherd.experiments.grid import STEPS, Case, Curve, make_curve
from bherd.experiments.panels import finish, sheet
from bherd.experiments.results import Heat, Results
from bherd.experiments.scales import Scale
from bherd.experiments.style import case_of

CAPTION = (
    "How often BHerd (α=0.5, fixed order) kept each local step within a stretch of rounds: white never, "
    "black always; one run (seed 0), since every seed has an order of its own."
)


def heat_curves(scale: Scale, case: Case) -> list[Curve]:
    """BHerd at both steps."""
    return [make_curve(scale.svm, case, "bherd-fedavg", step=step) for step in STEPS]


def heat_draw(results: Results, name: str, case: Case) -> list[Drawing]:
    """Clients from left to right, the two steps one above the other."""
    curves = heat_curves(results.scale, case)
    heats = [results.heats.get(curve.key, {}) for curve in curves]
    clients = max(map(len, heats))
    if clients == 0:
        return []
    figure, axes = sheet(len(curves), clients, width=2.2, height=2.2)
    for row, (curve, maps) in enumerate(zip(curves, heats, strict=True)):
        for client, heat in maps.items():
            panel = axes[row][client]
            _paint(panel, heat, results.scale.svm.rounds)
            if row == 0:
                panel.set_title(f"client {client + 1}", fontsize=9)
            else:
                panel.set_xlabel("round")
        axes[row][0].set_ylabel(f"local step\n({curve.config.method.step} step)")
    title = f"{name} · which local steps BHerd keeps, {case_of(case)} · {results.scale.svm.title}"
    finish(figure, [], title, CAPTION)
    return [Drawing(name, figure)]


def _paint(panel: object, heat: Heat, rounds: int) -> None:
    from matplotlib.axes import Axes

    assert isinstance(panel, Axes)
    steps = heat.share.shape[1]
    extent = (0.5, rounds + 0.5, 0.5, steps + 0.5)
    panel.imshow(
        heat.share.T,
        cmap="Greys",
        vmin=0,
        vmax=1,
        aspect="auto",
        origin="lower",
        extent=extent,
        interpolation="nearest",
    )
    panel.grid(visible=False)
