"""The learning rate of the CNN on small parts of the data: the largest at which FedAvg is stable.

The paper's rate belongs to full datasets and 500 rounds. At a smaller scale every method gets the same
rate, chosen by a rule that only looks at FedAvg and only at the first three seeds: the largest of a few
values at which FedAvg diverges in no case and ends, in every case, no higher than 1.1 times the lowest
loss that it has been at and at least 5% below the loss of guessing. (A network that a rate has destroyed
is calm too.) More seeds do not change the choice: the more there are, the likelier one of them ends on a
bad round, whatever the rate. How many of them settle is on the page.
"""

import math

from bherd.experiments import style
from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import CASES, Case, Curve, make_curve
from bherd.experiments.panels import Line, grid_of_cases
from bherd.experiments.results import Results
from bherd.experiments.scales import ETAS, Scale, Workload
from bherd.experiments.statistics import SETTLED, settled
from bherd.experiments.tables import RunRow

PILOTS = 3
"""The seeds on which the rate is chosen: 0, 1, 2."""
LEARNED = 0.95 * math.log(10)
"""Of ten classes."""


def fedavg(workload: Workload, case: Case, eta: float) -> Curve:
    """FedAvg at one learning rate."""
    return make_curve(workload, case, "fedavg", lr=eta)


def workloads(scale: Scale) -> list[Workload]:
    """The problems whose rate is chosen this way; the paper's own scale has the paper's own rate."""
    return [] if scale.name == "paper" else [scale.cnn_mnist, scale.cnn_cifar]


def curves(scale: Scale) -> list[Curve]:
    return [fedavg(w, case, eta) for w in workloads(scale) for eta in ETAS for case in CASES]


def is_stable(results: Results, workload: Workload, eta: float) -> bool:
    """Whether FedAvg is stable at this rate in all three cases and the seeds that choose."""
    for case in CASES:
        rows = [row for row in results.runs.get(fedavg(workload, case, eta).key, []) if row.seed < PILOTS]
        if not (rows and all(map(_stable, rows))):
            return False
    return True


def _stable(row: RunRow) -> bool:
    return settled(row.diverged_at, row.tail_loss, row.best_loss) and row.tail_loss <= LEARNED


def later_seeds(results: Results, workload: Workload) -> tuple[int, int]:
    """Of FedAvg's runs at the rate in use whose seeds did not choose it: the stable ones, and all."""
    keys = [fedavg(workload, case, workload.lr).key for case in CASES]
    rows = [row for key in keys for row in results.runs.get(key, []) if row.seed >= PILOTS]
    return sum(map(_stable, rows)), len(rows)


def largest_stable(results: Results, workload: Workload) -> float | None:
    """The outcome of the rule, or None where no rate is stable or none was tried."""
    return max((eta for eta in ETAS if is_stable(results, workload, eta)), default=None)


def notes(results: Results, workload: Workload) -> list[str]:
    """What the rule says on a problem, for the page; nothing where it was not asked or found no rate."""
    chosen = largest_stable(results, workload) if workload in workloads(results.scale) else None
    if chosen is None:
        return []
    text = (
        f"- {workload.title}: the largest rate at which FedAvg is stable in all cases with the seeds 0 to "
        f"{PILOTS - 1} (it ends within {SETTLED:g} of its lowest loss, and 5% below that of guessing) is "
        f"{chosen:g} of {', '.join(f'{value:g}' for value in ETAS)}; used: {workload.lr:g}."
    )
    calm, count = later_seeds(results, workload)
    return [text + (f" With the later seeds {calm} of {count} runs are stable at it." if count else "")]


def draw(results: Results) -> list[Drawing]:
    drawings = []
    for workload in workloads(results.scale):
        if not results.has(fedavg(workload, "case1", ETAS[0])):
            continue
        groups = [
            [
                Line(
                    fedavg(workload, case, eta),
                    f"η = {eta:g}",
                    style.SEQUENCE[number],
                    style.SEQUENCE_MARKERS[number],
                    1.4,
                    "-",
                    3 + number,
                )
                for number, eta in enumerate(ETAS)
            ]
            for case in CASES
        ]
        chosen = largest_stable(results, workload)
        caption = (
            f"FedAvg, reshuffled. Largest stable rate by the rule, on seeds 0 to {PILOTS - 1}: {chosen}; "
            f"used: {workload.lr:g}."
        )
        terms = results.terms(workload, [line.curve for group in groups for line in group])
        title = f"eta · the learning rate of FedAvg · {terms}"
        titles = [style.case_of(case) for case in CASES]
        drawings.append(
            Drawing(f"eta-{workload.name}", grid_of_cases(results, groups, titles, title, caption, log=True))
        )
    return drawings


EXPERIMENT = Experiment("eta", "Learning rate of the CNN at small scales", curves, draw)
