"""Figure 4c: which steps were kept, round by round, for each client of case3."""

from bherd.experiments.experiment import Drawing, Experiment
from bherd.experiments.grid import Curve
from bherd.experiments.heat import heat_curves, heat_draw
from bherd.experiments.results import Results
from bherd.experiments.scales import Scale


def curves(scale: Scale) -> list[Curve]:
    return heat_curves(scale, "case3")


def draw(results: Results) -> list[Drawing]:
    return heat_draw(results, "4c", "case3")


EXPERIMENT = Experiment("4c", "Which steps were kept, case3", curves, draw)
