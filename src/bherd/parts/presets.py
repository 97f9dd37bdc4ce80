"""Methods by the names that people know: answers to the questions of a round under one name.

A name is `[selector-]base`: every base alone, or with bherd-, grab-, random- or reversed- before it; and
`centralized`. What a preset does not answer is answered by the table's default.
"""

from typing import NamedTuple

from bherd.parts.table import TABLE


class Preset(NamedTuple):
    """A named method: what it is, and which parts it sets."""

    about: str
    parts: dict[str, str]


BASES = {
    "fedavg": Preset("average of the clients' summed gradients", {}),
    "fednova": Preset("normalized averaging, for clients with unequal steps", {"aggregation": "nova"}),
    "scaffold": Preset("control variates against client drift", {"correction": "control-variates"}),
    "fedprox": Preset("a pull back to the server's model", {"correction": "proximal"}),
    "feddyn": Preset("a dynamic regularizer against client drift", {"correction": "dynamic"}),
    "fedavgm": Preset("momentum on the server", {"server": "momentum"}),
    "fedadam": Preset("Adam on the server", {"server": "adam"}),
    "fedyogi": Preset("Yogi on the server", {"server": "yogi"}),
    "fedadagrad": Preset("Adagrad on the server", {"server": "adagrad"}),
    "fedexp": Preset("a server's step as long as the updates agree", {"server": "extrapolation"}),
    "fedmedian": Preset("coordinate-wise median of the updates", {"aggregation": "median"}),
    "fedtrimmed": Preset("trimmed mean of the updates", {"aggregation": "trimmed"}),
    "krum": Preset("the update with the nearest neighbours", {"aggregation": "krum"}),
}
PREFIXES = {
    "bherd-": Preset("... of the herded share alpha of the local gradients (BHerd)", {"selector": "herding"}),
    "grab-": Preset("... of the gradients that online balancing gives a plus (GraB)", {"selector": "grab"}),
    "random-": Preset("... of a random share alpha: the control for bherd-", {"selector": "random"}),
    "reversed-": Preset(
        "... of the share alpha that herding ranks last: its opposite", {"selector": "reversed"}
    ),
}
CENTRALIZED = {"centralized": Preset("plain SGD, one client with all data", {})}

PRESETS: dict[str, Preset] = {
    **BASES,
    **{
        prefix + base: Preset(more.about, {**preset.parts, **more.parts})
        for prefix, more in PREFIXES.items()
        for base, preset in BASES.items()
    },
    **CENTRALIZED,
}


def preset_texts(name: str) -> dict[str, str]:
    """A preset's part on every axis but `order`, which follows from the selector."""
    chosen = PRESETS[name].parts
    return {axis: chosen.get(axis, row.default) for axis, row in TABLE.items() if axis != "order"}


def base_of_preset(name: str) -> str:
    """A preset without its selector: 'bherd-scaffold' is 'scaffold', 'centralized' is 'fedavg'.

    >>> base_of_preset("random-fednova"), base_of_preset("centralized")
    ('fednova', 'fedavg')
    """
    if name in CENTRALIZED:
        return "fedavg"
    prefix = next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")
    return name.removeprefix(prefix)
