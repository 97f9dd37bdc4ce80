"""Numbers that change over the rounds: 'linear:0.3:1.0:50' goes from 0.3 to 1.0 in 50 rounds."""

import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from bherd.errors import InputError
from bherd.names import did_you_mean

_FAR = 10**12


class _Kind(NamedTuple):
    """One shape: its arguments, and its value in a round."""

    arguments: str
    help: str
    value: Callable[..., float]


def _linear(round: int, start: float, end: float, rounds: float) -> float:
    return start + (end - start) * _progress(round, rounds)


def _cosine(round: int, start: float, end: float, rounds: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * _progress(round, rounds))) / 2


def _step(round: int, start: float, factor: float, every: float) -> float:
    """Never zero or infinite after any number of rounds, unless START or FACTOR is 0."""
    if start == 0 or factor == 0:
        return start * float(factor ** ((round - 1) // every))
    size = math.log(abs(start)) + (round - 1) // every * math.log(factor)
    if size < math.log(sys.float_info.min):
        return math.copysign(sys.float_info.min, start)
    if size > math.log(sys.float_info.max):
        return math.copysign(sys.float_info.max, start)
    return start * float(factor ** ((round - 1) // every))


def _warmup(round: int, value: float, rounds: float) -> float:
    return value * min(1.0, round / rounds)


def _progress(round: int, rounds: float) -> float:
    """0 in round 1, 1 from round `rounds` on."""
    return 1.0 if rounds <= 1 else min(1.0, (round - 1) / (rounds - 1))


KINDS = {
    "linear": _Kind("START:END:ROUNDS", "in equal steps from START to END", _linear),
    "cosine": _Kind("START:END:ROUNDS", "along half a cosine from START to END", _cosine),
    "step": _Kind("START:FACTOR:EVERY", "START, times FACTOR after every EVERY rounds", _step),
    "warmup": _Kind("VALUE:ROUNDS", "in equal steps up to VALUE in round ROUNDS", _warmup),
}


class Schedule(float):
    """A number whose value depends on the round; as a float it is its value in round 1.

    >>> share = Schedule("linear:0.25:1.0:4")
    >>> float(share), share.at(3), share.at(4), share.at(100)
    (0.25, 0.75, 1.0, 1.0)
    """

    text: str
    _kind: _Kind
    _arguments: tuple[float, ...]

    def __new__(cls, text: str) -> "Schedule":
        name, *given = text.split(":")
        if name not in KINDS:
            raise InputError(f"{text!r} is no schedule{did_you_mean(name, KINDS)}")
        kind = KINDS[name]
        try:
            arguments = tuple(float(number) for number in given)
        except ValueError:
            arguments = ()
        finite = all(math.isfinite(number) for number in arguments)
        if len(arguments) != len(kind.arguments.split(":")) or not finite or arguments[-1] < 1:
            raise InputError(
                f"{text!r}: a schedule is written {name}:{kind.arguments}, with a last number of 1 or more"
            )
        if name == "step" and arguments[1] < 0:
            raise InputError(f"{text!r}: the FACTOR of a schedule must be 0 or more. Try 0.5, which halves.")
        made = super().__new__(cls, kind.value(1, *arguments))
        made.text, made._kind, made._arguments = text, kind, arguments
        return made

    def at(self, round: int) -> float:
        """The number in a round; rounds are counted from 1."""
        return self._kind.value(round, *self._arguments)

    @property
    def last(self) -> float:
        """The number that it comes to rest at, or has after more rounds than anybody runs."""
        return self.at(_FAR)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self.text == other.text

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Any, ...]:
        return (Schedule, (self.text,))


def is_schedule(text: object) -> bool:
    """Whether a text is meant as a schedule: a known shape, a colon and more."""
    return isinstance(text, str) and ":" in text and text.partition(":")[0] in KINDS


def number_at(value: float, round: int) -> float:
    """A number in a round, whether it is a schedule or not."""
    return value.at(round) if isinstance(value, Schedule) else value


def has_schedule(*values: object) -> bool:
    """Whether any of the numbers changes over the rounds."""
    return any(isinstance(value, Schedule) for value in values)


def range_of(value: float, rounds: int) -> tuple[float, float]:
    """The smallest and the largest value of a number over so many rounds."""
    if not isinstance(value, Schedule):
        return value, value
    values = [value.at(round) for round in range(1, rounds + 1)]
    return min(values), max(values)


def written(value: Any) -> Any:
    """A value as files and messages hold it: a schedule is its text, anything else itself."""
    return value.text if isinstance(value, Schedule) else value
