"""What a figure's file offers: its name, its grid and its plot."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from paper.grid import Curve
from paper.results import Results
from paper.scales import Scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Drawing(NamedTuple):
    """A finished plot and the name of its files."""

    name: str
    figure: "Figure"


@dataclass(frozen=True)
class Experiment:
    """One figure: which curves it needs, and how it is drawn from the tables."""

    name: str
    title: str
    curves: Callable[[Scale], list[Curve]]
    draw: Callable[[Results], list[Drawing]]
