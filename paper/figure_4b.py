"""Figure 4b: which steps were kept, round by round, for each client of case2."""

from paper.experiment import Drawing, Experiment
from paper.grid import Curve
from paper.heat import heat_curves, heat_draw
from paper.results import Results
from paper.scales import Scale


def curves(scale: Scale) -> list[Curve]:
    return heat_curves(scale, "case2")


def draw(results: Results) -> list[Drawing]:
    return heat_draw(results, "4b", "case2")


EXPERIMENT = Experiment("4b", "Which steps were kept, case2", curves, draw)
