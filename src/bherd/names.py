"""The name of a task from Python, and help with misspelt names. Imports nothing heavy."""

import difflib
from collections.abc import Iterable

OWN_TASK = "own task"
"""The dataset of a run on a `Task` from Python; in a run directory, the task's fingerprint follows."""


def is_own_task(dataset: str) -> bool:
    """Whether a configuration's dataset stands for a `Task` from Python."""
    return dataset == OWN_TASK or dataset.startswith(f"{OWN_TASK} ")


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The tail of an error message, with its full stop: the closest known name, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(given.lower(), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(names)}."
