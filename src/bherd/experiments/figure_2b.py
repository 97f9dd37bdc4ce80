"""Figure 2b: FedNova and SCAFFOLD, with and without BHerd, on three problems and three cases."""

from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import CASES, STEPS, Case, Curve, controlled, make_curve
from bherd.experiments.panels import grid_of_cases, styled
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale, Workload
from bherd.experiments.style import BASES, case_of

SERVERS = ("fednova", "scaffold")
CAPTION = (
    "Mean and 95% band over seeds. Solid: step lengthened by 1/α; dashed: the step of the paper's equation. "
    "The plain method reshuffles every epoch, as the paper says;\nBHerd and the two controls of the longer "
    "step (the plain method with a fixed order, random share) keep their order, "
    "so that selection alone differs."
)


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
    drawings = []
    for workload in results.scale.workloads:
        for server in SERVERS:
            groups = [case_curves(workload, case, server) for case in CASES]
            if not any(results.has(curve) for group in groups for curve in group):
                continue
            terms = results.terms(workload, [curve for group in groups for curve in group])
            figure = grid_of_cases(
                results,
                [[styled(curve) for curve in group] for group in groups],
                [case_of(case) for case in CASES],
                f"2b · BHerd on {BASES[server]}, α=0.5 · {terms}",
                CAPTION,
            )
            drawings.append(Drawing(f"2b-{server}-{workload.name}", figure))
    return drawings


EXPERIMENT = Experiment("2b", "BHerd on FedNova and SCAFFOLD", curves, draw)
