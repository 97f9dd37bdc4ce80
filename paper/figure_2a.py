"""Figure 2a: centralized, FedAvg, BHerd-FedAvg and GraB-FedAvg on three problems and three cases."""

from functools import partial

from paper.experiment import Drawing, Experiment
from paper.grid import CASES, STEPS, Case, Curve, controlled, make_curve
from paper.results import Results
from paper.scales import Scale, Workload
from paper.versus import draw_versus


def case_curves(workload: Workload, case: Case) -> list[Curve]:
    """One panel: the paper's four, BHerd and GraB at both steps, and the controls."""
    bherd = [make_curve(workload, case, "bherd-fedavg", step=step) for step in STEPS]
    return [
        make_curve(workload, case, "centralized"),
        make_curve(workload, case, "fedavg"),
        *(make_curve(workload, case, "grab-fedavg", step=step) for step in STEPS),
        *(curve for one in bherd for curve in controlled(workload, one)),
    ]


def curves(scale: Scale) -> list[Curve]:
    return [c for w in scale.workloads for case in CASES for c in case_curves(w, case)]


def draw(results: Results) -> list[Drawing]:
    return [
        drawing
        for workload in results.scale.workloads
        for drawing in draw_versus(
            results,
            workload,
            partial(case_curves, workload),
            "2a",
            "2a · BHerd and GraB on FedAvg, α=0.5",
        )
    ]


EXPERIMENT = Experiment("2a", "BHerd and GraB on FedAvg", curves, draw)
