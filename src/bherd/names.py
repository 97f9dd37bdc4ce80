"""The names of the methods and of tasks from Python, and help with misspelt ones. Imports nothing heavy."""

import difflib
from collections.abc import Iterable

BASES = {
    "fedavg": "average of the clients' summed gradients",
    "fednova": "normalized averaging, for clients with unequal steps",
    "scaffold": "control variates against client drift",
}
PREFIXES = {
    "bherd-": "... of the herded share alpha of the local gradients (BHerd)",
    "grab-": "... of the gradients that online balancing gives a plus (GraB)",
    "random-": "... of a random share alpha: the control for bherd-",
    "reversed-": "... of the share alpha that herding ranks last: the opposite of bherd-",
}
CENTRALIZED = {"centralized": "plain SGD, one client with all data"}
METHOD_NAMES = (*CENTRALIZED, *(prefix + base for base in BASES for prefix in ("", *PREFIXES)))

OWN_TASK = "own task"
"""The dataset of a run on a `Task` from Python; in a run directory, the task's fingerprint follows."""


def is_own_task(dataset: str) -> bool:
    """Whether a configuration's dataset stands for a `Task` from Python."""
    return dataset == OWN_TASK or dataset.startswith(f"{OWN_TASK} ")


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The tail of an error message: the closest known name, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(given.lower(), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(names)}"
