"""Figure 3a: the share of gradients that are kept, α."""

from paper.experiment import Drawing, Experiment
from paper.grid import Case, Curve, Step, make_curve
from paper.results import Results
from paper.scales import Scale, Workload
from paper.sweep import Sweep, sweep_curves, sweep_draw


def bherd(workload: Workload, case: Case, step: Step, value: float) -> Curve:
    """BHerd-FedAvg at one value of α."""
    return make_curve(workload, case, "bherd-fedavg", step=step, alpha=value)


SWEEP = Sweep("3a", "α", lambda _workload: (0.1, 0.3, 0.5, 0.7, 1.0), bherd, apart=0.1)


def curves(scale: Scale) -> list[Curve]:
    return sweep_curves(SWEEP, scale)


def draw(results: Results) -> list[Drawing]:
    return sweep_draw(SWEEP, results)


EXPERIMENT = Experiment("3a", "Influence of the share of gradients that are kept", curves, draw)
