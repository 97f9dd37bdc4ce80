"""Figure 4a: which steps were kept, round by round, for each client of case1."""

from paper.experiment import Drawing, Experiment
from paper.grid import Curve
from paper.heat import heat_curves, heat_draw
from paper.results import Results
from paper.scales import Scale


def curves(scale: Scale) -> list[Curve]:
    return heat_curves(scale, "case1")


def draw(results: Results) -> list[Drawing]:
    return heat_draw(results, "4a", "case1")


EXPERIMENT = Experiment("4a", "Which steps were kept, case1", curves, draw)
