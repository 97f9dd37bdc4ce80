"""Figure 2b: FedNova and SCAFFOLD, with and without BHerd, on three problems and three cases."""

from functools import partial

from paper.experiment import Drawing, Experiment
from paper.grid import CASES, STEPS, Case, Curve, controlled, make_curve
from paper.results import Results
from paper.scales import Scale, Workload
from paper.style import BASES
from paper.versus import draw_versus

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
