"""The learning rate of the CNN on small parts of the data: the largest at which FedAvg is stable.

The paper's rate belongs to full datasets and 500 rounds. At a smaller scale every method gets the same
rate, chosen by a rule that only looks at FedAvg and only at the first three seeds: the largest of a few
values at which FedAvg diverges in no case and ends, in every case, no higher than 1.1 times the lowest
loss that it has been at and at least 5% below the loss of guessing. (A network that a rate has destroyed
is calm too.) More seeds do not change the choice: the more there are, the likelier one of them ends on a
bad round, whatever the rate. How many of them settle is on the page.
"""

import math

import numpy as np

from paper import style
from paper.dots import Series, draw_series, stripes
from paper.experiment import Drawing, Experiment
from paper.grid import CASES, Case, Curve, make_curve
from paper.measures import SETTLED, settled
from paper.panels import finish, plain_log, sheet
from paper.results import Results
from paper.scales import ETAS, Scale, Workload
from paper.tables import RunRow

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
    return [
        _sheet(results, workload)
        for workload in workloads(results.scale)
        if results.has(fedavg(workload, "case1", ETAS[0]))
    ]


def _sheet(results: Results, workload: Workload) -> Drawing:
    """What the rule looks at, run by run: where a run ends, and how far above its lowest loss."""
    figure, axes = sheet(2, len(CASES), height=2.4, share_y="row")
    look = style.LOOKS[""]
    shown: tuple[list[float], list[float]] = ([], [])
    for column, case in enumerate(CASES):
        curves = [fedavg(workload, case, eta) for eta in ETAS]
        ends = [results.endings(curve) for curve in curves]
        above = [
            {
                seed: end / low
                for (seed, end), low in zip(own.items(), results.lowest(c).values(), strict=True)
            }
            for own, c in zip(ends, curves, strict=True)
        ]
        for row, (found, limit) in enumerate(((ends, LEARNED), (above, SETTLED))):
            panel = axes[row][column]
            stripes(panel, [f"{eta:g}" for eta in ETAS])
            series = Series("FedAvg, reshuffled", look.colour, look.marker, "-", found)
            draw_series(panel, 0, 1, series, geometric=True, hollow_from=PILOTS)
            panel.axhline(limit, color="#444444", linestyle="--", linewidth=1.2)
            shown[row].extend([limit, *(value for by_seed in found for value in by_seed.values())])
        axes[0][column].set_title(style.case_of(case), fontsize=10)
        axes[1][column].set_xlabel("learning rate $\\eta$")
    for row, values in enumerate(shown):
        plain_log(axes[row][0], np.array(values))
    axes[0][0].set_ylabel("final training loss")
    axes[1][0].set_ylabel("final loss over\nlowest loss")
    every = [fedavg(workload, case, eta) for case in CASES for eta in ETAS]
    rows = [row for curve in every for row in results.runs.get(curve.key, [])]
    seeds = max((row.seed for row in rows), default=0)
    title = f"eta · the learning rate of FedAvg | {results.terms(workload, every)}"
    finish(figure, [], title, _caption(results, workload, seeds))
    return Drawing(f"eta-{workload.name}", figure)


def _caption(results: Results, workload: Workload, last: int) -> str:
    later = (
        f", hollow those of seeds {PILOTS} to {last}, which only the rate in use has"
        if last >= PILOTS
        else ""
    )
    return (
        f"FedAvg, reshuffled. A filled dot is a run of the seeds 0 to {PILOTS - 1}, which choose the "
        f"rate{later}; "
        "a cross at the upper edge diverged. The large marks are geometric means, medians where a run "
        "diverged; "
        "there is no band. The final loss is the mean of the last tenth. A rate is stable if all filled dots "
        "lie "
        f"below both dashed lines (5% below guessing; {SETTLED:g}) in all cases: the largest such rate is "
        f"{largest_stable(results, workload)}; used: {workload.lr:g}."
    )


EXPERIMENT = Experiment("eta", "Learning rate of the CNN at small scales", curves, draw)
