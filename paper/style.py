"""One look for all figures. Colour and marker say what is kept, the dashes say how long the step is.

The colours are Okabe and Ito's, which people with any colour vision tell apart. In grey, the markers,
the dashes and the widths still differ; the widths also let curves that lie on each other show through.
"""

from typing import Any, NamedTuple

from paper.grid import Curve

BASES = {"fedavg": "FedAvg", "fednova": "FedNova", "scaffold": "SCAFFOLD", "centralized": "centralized SGD"}
SELECTORS = {"bherd": "BHerd", "grab": "GraB", "random": "random", "reversed": "reversed"}


class Look(NamedTuple):
    """How a method's line is drawn."""

    colour: str
    marker: str
    width: float
    layer: int


LOOKS = {
    "centralized": Look("#000000", "", 1.2, 2),
    "": Look("#D55E00", "", 3.0, 3),
    "random": Look("#009E73", "^", 2.0, 4),
    "reversed": Look("#CC79A7", "v", 1.6, 5),
    "grab": Look("#E69F00", "s", 1.6, 6),
    "bherd": Look("#0072B2", "o", 1.1, 7),
}
DASHES = {"longer": "-", "plain": (0, (4, 2)), "centralized": (0, (1, 1.5))}
OTHERS = ("#332288", "#44AA99", "#AA4499", "#999933", "#88CCEE")
"""For clients and cases, which are no methods: Tol's muted colours."""
SEQUENCE = ("#000000", "#0072B2", "#009E73", "#D55E00", "#E69F00")
SEQUENCE_MARKERS = ("o", "s", "^", "v", "D")
RC: dict[Any, Any] = {
    "font.size": 9.5,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 180,
}


def look_of(curve: Curve) -> Look:
    """The colour, marker and width of a curve's method."""
    own = curve.settings
    return LOOKS["centralized" if own.method == "centralized" else own.selector]


def dashes_of(curve: Curve) -> object:
    """Solid for the longer step, dashed for the equation's, dotted for centralized training."""
    if curve.settings.method == "centralized":
        return DASHES["centralized"]
    return DASHES["longer" if is_longer(curve) else "plain"]


def is_longer(curve: Curve) -> bool:
    """Whether the step is longer than the paper's equation has it."""
    return curve.settings.step == "amplified" or curve.settings.server_lr > curve.settings.epochs


def name_of(curve: Curve) -> str:
    """The method's name for people: BHerd-FedAvg."""
    selector, base = curve.settings.selector, BASES[curve.settings.server]
    return f"{SELECTORS[selector]}-{base}" if selector else base


def label_of(curve: Curve) -> str:
    """The method's name with what tells it from its neighbours in a figure."""
    own, text = curve.settings, name_of(curve)
    if own.method == "centralized":
        return text
    if own.selector:
        return f"{text}, {own.step} step"
    if own.server_lr != 1.0:
        return f"{text}, step × {own.server_lr:.3g}, fixed order"
    return f"{text}, reshuffled" if own.reshuffle else f"{text}, fixed order"


def case_of(partition: str) -> str:
    """'case 2 (one label group a client)' and the like."""
    return {
        "case1": "case 1 (IID)",
        "case2": "case 2 (labels apart)",
        "case3": "case 3 (half and half)",
    }[partition]
