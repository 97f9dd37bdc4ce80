"""Pairs of parts that make no sense together, each with the reason; docs/decisions.md derives them.

What two parts say of themselves decides, never their names, so that a user's part is held to the same.
"""

from collections.abc import Mapping
from typing import NamedTuple

from bherd.errors import InputError
from bherd.parts.part import Part
from bherd.parts.schedule import Schedule


class _Pair(NamedTuple):
    """Two axes, what each part must say of itself for them to clash, and why they do."""

    first: str
    says: str
    second: str
    says_too: str
    why: str


_PAIRS = (
    _Pair(
        "optimizer",
        "momentum",
        "correction",
        "reads_mean",
        "a mean of directions with momentum is about 1/(1 - momentum) too long for a mean gradient",
    ),
    _Pair(
        "optimizer",
        "momentum",
        "aggregation",
        "normalizes",
        "normalized averaging divides by the number of steps, which is not how far momentum carries them",
    ),
    _Pair(
        "transform",
        "lossy",
        "correction",
        "reads_moved",
        "server and clients must agree on how far each client moved, but the update arrives as another one",
    ),
    _Pair(
        "transform",
        "private",
        "correction",
        "stateful",
        "the correction would send a vector in the clear beside the update that is hidden",
    ),
)


def refuse_pairs(parts: Mapping[str, Part]) -> None:
    """Raise `InputError` for the first pair that makes no sense."""
    for first, says, second, says_too, why in _PAIRS:
        one, other = parts.get(first), parts.get(second)
        if _says(one, says) and _says(other, says_too):
            raise InputError(f"{first} = {one} with {second} = {other}: {why}. Change one of them.")


def _says(part: Part | None, name: str) -> bool:
    """Whether a part says so of itself, in any round: a schedule that begins at 0 may end elsewhere."""
    value = getattr(part, name, False)
    return bool(value.at(1) or value.last) if isinstance(value, Schedule) else bool(value)
