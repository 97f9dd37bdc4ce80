"""How a partition is named: its scheme and its parameter. Needs neither torch nor numpy."""

import difflib
import math
import re
from typing import NamedTuple

from bherd.errors import InputError

_DEFAULTS: dict[str, float | None] = {
    "case1": None,
    "case2": None,
    "case3": None,
    "dirichlet": 0.5,
    "shards": 2,
    "quantity": 0.5,
}
SCHEMES = tuple(_DEFAULTS)
_FORM = re.compile(r"([\w-]+)\s*(?::(.*)|\((.*)\))?", re.DOTALL)


class Scheme(NamedTuple):
    """A partition scheme and its parameter: β of `dirichlet` and `quantity`, k of `shards`."""

    name: str
    parameter: float | None = None

    @property
    def text(self) -> str:
        """The canonical form, `name` or `name:parameter`, which `parse_scheme` reads back."""
        if self.parameter is None:
            return self.name
        exact = repr(self.parameter)
        return f"{self.name}:{exact.removesuffix('.0')}"


def parse_scheme(text: str) -> Scheme:
    """Read `name`, `name:parameter` or `name(parameter)`; a bare name gets its default parameter.

    >>> parse_scheme("dirichlet(0.1)").text
    'dirichlet:0.1'
    >>> parse_scheme("shards")
    Scheme(name='shards', parameter=2)
    """
    form = _FORM.fullmatch(str(text).strip().lower())
    if form is None:
        raise InputError(
            f"partition {text!r} cannot be read: expected NAME or NAME:PARAMETER, "
            f"with NAME one of {', '.join(SCHEMES)}."
        )
    name = form[1]
    given = form[2] if form[2] is not None else form[3]
    if name not in _DEFAULTS:
        near = difflib.get_close_matches(name, SCHEMES, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InputError(f"unknown partition {name!r}: expected one of {', '.join(SCHEMES)}.{hint}")
    default = _DEFAULTS[name]
    if given is None:
        return Scheme(name, default)
    if default is None:
        raise InputError(f"partition {text!r}: {name} has no parameter. Write {name!r}.")
    return Scheme(name, _parameter(text, name, given))


def _parameter(text: str, name: str, given: str) -> float:
    whole = name == "shards"
    try:
        value = int(given) if whole else float(given)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:  # which NaN fails too
        expected = "a whole number of labels, 1 or more" if whole else "a finite number above 0"
        raise InputError(
            f"partition {text!r}: its parameter is {given.strip()!r}, expected {expected}. "
            f"For example {Scheme(name, _DEFAULTS[name]).text}."
        )
    return value
