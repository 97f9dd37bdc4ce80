"""The names of the methods, and help with misspelt ones. Imports nothing heavy."""

import difflib
from collections.abc import Iterable

SELECTOR_PREFIXES = ("", "bherd-", "grab-", "random-", "reversed-")
BASES = ("fedavg", "fednova", "scaffold")
METHOD_NAMES = ("centralized", *(prefix + base for base in BASES for prefix in SELECTOR_PREFIXES))


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """The tail of an error message: the closest known name, or all of them."""
    names = list(known)
    close = difflib.get_close_matches(given.lower(), names, n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known are {', '.join(names)}"
