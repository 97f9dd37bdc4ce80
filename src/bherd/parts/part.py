"""A part: one answer to one of the questions that a round asks. Imports neither torch nor numpy.

A part is a frozen dataclass. Its fields are its parameters, its docstring its help, its class its name.
What it remembers goes in and comes out as named tensors, so that the loop, the checkpoint and the wire
carry it without knowing whose it is.
"""

import dataclasses
from abc import ABC
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

from bherd.parts.schedule import Schedule

if TYPE_CHECKING:
    from torch import Tensor

Tensors = Mapping[str, "Tensor"]
"""A part's memory by name; {} is none."""

AnyPart = TypeVar("AnyPart", bound="Part")


class Part(ABC):
    """Base of all parts: `str(part)` is its name with all its parameters, 'herding,alpha=0.3'."""

    AXIS: ClassVar[str]
    """The question that it answers: the name of the flag and of the setting."""

    def __str__(self) -> str:
        from bherd.parts.spec import spec_of

        return str(spec_of(self))


def at_round(part: AnyPart, round: int) -> AnyPart:
    """The part with every schedule among its parameters replaced by its number in this round.

    A part without a schedule comes back itself.
    """
    changed = _changed(part, round)
    return part if changed is None else changed  # type: ignore[return-value]  # of the same class


@lru_cache(maxsize=4096)
def _changed(part: Part, round: int) -> Part | None:
    """The part in this round; None where it has no schedule. An equal part is not the same one."""
    changes = {}
    for field in dataclasses.fields(part):  # type: ignore[arg-type]  # every part is a dataclass
        value = getattr(part, field.name)
        if isinstance(value, Schedule):
            changes[field.name] = value.at(round)
    return dataclasses.replace(part, **changes) if changes else None  # type: ignore[type-var]
