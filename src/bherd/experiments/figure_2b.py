"""Figure 2b: FedNova and SCAFFOLD, with and without BHerd, on three problems and three cases."""

from functools import partial

from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import CASES, STEPS, Case, Curve, controlled, make_curve
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale, Workload
from bherd.experiments.style import BASES
from bherd.experiments.versus import draw_versus

SERVERS = ("fednova", "scaffold")


def case_curves(workload: Workload, case: Case, server: str) -> list[Curve]:
    """One panel: the plain method, BHerd on it at both steps, and the controls."""
    bherd = [make_curve(workload, case, f"bherd-{server}", step=step) for step in STEPS]
    return [
        make_curve(workload, case, server),
        *(curve for one in bherd for curve in controlled(workload, one)),
    ]


def curves(scale: Scale) -> list[Curve]:
    return [
        c
        for w in scale.workloads
        for server in SERVERS
        for case in CASES
        for c in case_curves(w, case, server)
    ]


def draw(results: Results) -> list[Drawing]:
    return [
        drawing
        for workload in results.scale.workloads
        for server in SERVERS
        for drawing in draw_versus(
            results,
            workload,
            partial(case_curves, workload, server=server),
            f"2b-{server}",
            f"2b · BHerd on {BASES[server]}, α=0.5",
        )
    ]


EXPERIMENT = Experiment("2b", "BHerd on FedNova and SCAFFOLD", curves, draw)
