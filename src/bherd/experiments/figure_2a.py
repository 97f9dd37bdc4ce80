"""Figure 2a: centralized, FedAvg, BHerd-FedAvg and GraB-FedAvg on three problems and three cases."""

from functools import partial

from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import CASES, STEPS, Case, Curve, controlled, make_curve
from bherd.experiments.panels import draw_cases
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale, Workload

CAPTION = (
    "Mean and 95% band over seeds. Solid: step lengthened by 1/α; dashed: the step of the paper's equation. "
    "FedAvg and centralized SGD reshuffle every epoch, as the paper says;\nBHerd, GraB and the two controls "
    "of the longer step (FedAvg with a fixed order, random share) keep their order, "
    "so that selection alone differs."
)


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
        for drawing in draw_cases(
            results,
            workload,
            partial(case_curves, workload),
            "2a",
            "2a · BHerd and GraB on FedAvg, α=0.5",
            CAPTION,
        )
    ]


EXPERIMENT = Experiment("2a", "BHerd and GraB on FedAvg", curves, draw)
