"""Figure 4a: which steps were kept, round by round, for each client of case1."""

from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import Curve
from bherd.experiments.heat import heat_curves, heat_draw
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale


def curves(scale: Scale) -> list[Curve]:
    return heat_curves(scale, "case1")


def draw(results: Results) -> list[Drawing]:
    return heat_draw(results, "4a", "case1")


EXPERIMENT = Experiment("4a", "Which steps were kept, case1", curves, draw)
