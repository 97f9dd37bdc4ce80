"""Figure 2a: centralized, FedAvg, BHerd-FedAvg and GraB-FedAvg on three problems and three cases."""

from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import CASES, STEPS, Case, Curve, controlled, make_curve
from bherd.experiments.panels import grid_of_cases, styled
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale, Workload
from bherd.experiments.style import case_of

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
    drawings = []
    for workload in results.scale.workloads:
        groups = [case_curves(workload, case) for case in CASES]
        if not any(results.has(curve) for group in groups for curve in group):
            continue
        terms = results.terms(workload, [curve for group in groups for curve in group])
        figure = grid_of_cases(
            results,
            [[styled(curve) for curve in group] for group in groups],
            [case_of(case) for case in CASES],
            f"2a · BHerd and GraB on FedAvg, α=0.5 · {terms}",
            CAPTION,
        )
        drawings.append(Drawing(f"2a-{workload.name}", figure))
    return drawings


EXPERIMENT = Experiment("2a", "BHerd and GraB on FedAvg", curves, draw)
