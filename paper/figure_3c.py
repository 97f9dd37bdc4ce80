"""Figure 3c: the size of a local batch, B."""

from paper.experiment import Drawing, Experiment
from paper.grid import Case, Curve, Step, make_curve
from paper.results import Results
from paper.scales import Scale, Workload
from paper.sweep import Sweep, sweep_curves, sweep_draw


def bherd(workload: Workload, case: Case, step: Step, value: float) -> Curve:
    """BHerd-FedAvg at one value of B."""
    return make_curve(workload, case, "bherd-fedavg", step=step, batch_size=int(value))


SWEEP = Sweep("3c", "B", lambda workload: workload.batch_sizes, bherd)


def curves(scale: Scale) -> list[Curve]:
    return sweep_curves(SWEEP, scale)


def draw(results: Results) -> list[Drawing]:
    return sweep_draw(SWEEP, results)


EXPERIMENT = Experiment("3c", "Influence of the size of a local batch", curves, draw)
