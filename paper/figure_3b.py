"""Figure 3b: the local epochs of a round, E."""

from paper.experiment import Drawing, Experiment
from paper.grid import Case, Curve, Step, make_curve
from paper.results import Results
from paper.scales import Scale, Workload
from paper.sweep import Sweep, sweep_curves, sweep_draw


def bherd(workload: Workload, case: Case, step: Step, value: float) -> Curve:
    """BHerd-FedAvg at one value of E."""
    return make_curve(workload, case, "bherd-fedavg", step=step, epochs=value)


SWEEP = Sweep("3b", "E", lambda _workload: (0.1, 0.5, 1.0, 1.5, 2.0), bherd)


def curves(scale: Scale) -> list[Curve]:
    return sweep_curves(SWEEP, scale)


def draw(results: Results) -> list[Drawing]:
    return sweep_draw(SWEEP, results)


EXPERIMENT = Experiment("3b", "Influence of the local epochs of a round", curves, draw)
