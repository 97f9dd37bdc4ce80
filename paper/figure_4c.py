"""Figure 4c: which steps were kept, round by round, for each client of case3."""

from paper.experiment import Drawing, Experiment
from paper.grid import Curve
from paper.heat import heat_curves, heat_draw
from paper.results import Results
from paper.scales import Scale


def curves(scale: Scale) -> list[Curve]:
    return heat_curves(scale, "case3")


def draw(results: Results) -> list[Drawing]:
    return heat_draw(results, "4c", "case3")


EXPERIMENT = Experiment("4c", "Which steps were kept, case3", curves, draw)
