"""Figure 3d: the number of clients, N."""

from paper.experiment import Drawing, Experiment
from paper.grid import Case, Curve, Step, make_curve
from paper.results import Results
from paper.scales import Scale, Workload
from paper.sweep import Sweep, sweep_curves, sweep_draw


def bherd(workload: Workload, case: Case, step: Step, value: float) -> Curve:
    """BHerd-FedAvg at one value of N."""
    return make_curve(workload, case, "bherd-fedavg", step=step, clients=int(value))


SWEEP = Sweep("3d", "N", lambda _workload: (1, 5, 10, 15, 20), bherd)


def curves(scale: Scale) -> list[Curve]:
    return sweep_curves(SWEEP, scale)


def draw(results: Results) -> list[Drawing]:
    return sweep_draw(SWEEP, results)


EXPERIMENT = Experiment("3d", "Influence of the number of clients", curves, draw)
