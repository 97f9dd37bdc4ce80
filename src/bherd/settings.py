"""What a setting is: default, description, permitted values and flag, all told once, in its field.

A table of the configuration is a frozen dataclass whose fields are made by `setting`. Its constructor,
a TOML file, the flags and the wire all end in `check_table`, and so get the same answer. Nothing heavy
is imported here.
"""

import dataclasses
import math
import os
import sys
import textwrap
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from bherd.errors import InputError
from bherd.parts.schedule import Schedule, is_schedule
from bherd.sizes import parse_size

Check = Callable[[Any], str | None]
"""What is wrong with a value, as the rest of the sentence 'NAME is VALUE'; None: nothing."""

AnyTable = TypeVar("AnyTable", bound="Table")


@dataclass(frozen=True)
class Table:
    """Base of the configuration's tables: dataclasses whose fields are made by `setting`."""

    TABLE: ClassVar[str]
    """Its name in config.toml."""
    SETTINGS: ClassVar[tuple["Setting", ...]]
    """What it holds, in the order of the fields."""

    def __post_init__(self) -> None:
        check_table(self)


class Setting(NamedTuple):
    """One field of a configuration table."""

    table: str
    name: str
    kind: Any
    """Its type: int, float, str, bool, a Literal, or a union of these."""
    default: Any
    help: str
    decides: bool
    """Whether results depend on it: runs that differ in it are different runs."""
    option: str
    """Its flag without the dashes in front: 'batch-size'."""
    metavar: str
    usual: str
    """The default as help shows it."""
    check: Check | None
    over_rounds: bool
    """Whether it may be a schedule, such as 'cosine:0.1:0.001:50'."""

    @property
    def path(self) -> str:
        """As in config.toml: 'train.batch_size'."""
        return f"{self.table}.{self.name}"

    @property
    def word(self) -> str:
        """What messages call it: 'batch_size'; 'method' for method.name."""
        return self.option.replace("-", "_")


def setting(
    default: Any,
    help: str,
    *,
    metavar: str = "",
    decides: bool = True,
    flag: str = "",
    usual: str = "",
    check: Check | None = None,
    over_rounds: bool = False,
) -> Any:
    """A field of a configuration table.

    Args:
        default: the value that is used where nothing else is said.
        help: what it is, in one clause without a full stop.
        metavar: what its value is called in the help of the flag.
        decides: whether results depend on it. What does not decide may differ between a run and its
            continuation, and between the nodes of a federation.
        flag: its flag, if that is not the field's own name.
        usual: the default in words, where its value says too little.
        check: what is wrong with a value of the right type, if anything.
        over_rounds: whether a schedule over the rounds may take the place of a number.
    """
    about = {"help": help, "metavar": metavar, "decides": decides, "flag": flag, "usual": usual}
    return dataclasses.field(default=default, metadata={**about, "check": check, "over_rounds": over_rounds})


def _read_settings(table: type[Table]) -> tuple[Setting, ...]:
    """The settings of a table, in the order of its fields."""
    kinds = typing.get_type_hints(table)
    return tuple(
        Setting(
            table.TABLE,
            field.name,
            kinds[field.name],
            field.default,
            field.metadata["help"],
            field.metadata["decides"],
            field.metadata["flag"] or field.name.replace("_", "-"),
            field.metadata["metavar"],
            field.metadata["usual"] or _shown(field.default),
            field.metadata["check"],
            field.metadata["over_rounds"],
        )
        for field in dataclasses.fields(table)
    )


def check_table(table: Table) -> None:
    """For `__post_init__`: refuse what cannot be used, and turn numpy's scalars into plain values."""
    for one in table.SETTINGS:
        given = getattr(table, one.name)
        value = _plain(given, one.kind)
        if one.over_rounds and is_schedule(value):
            value = Schedule(value)
        if isinstance(value, Schedule) and one.over_rounds:
            _check_schedule(one, value)
            object.__setattr__(table, one.name, value)
            continue
        if not _fits(value, one.kind):
            raise InputError(f"{one.path} is {given!r}, but {_wanted(one.kind)} is expected")
        if float in options_of(one.kind) and int not in options_of(one.kind) and value is not None:
            value = _as_float(value)
        wrong = None if value is None or one.check is None else one.check(value)
        if wrong is not None:
            raise InputError(f"{one.word} is {value!r}{wrong}")
        object.__setattr__(table, one.name, value)


def _check_schedule(one: Setting, schedule: Schedule) -> None:
    """Refuse a schedule whose first or last number would be refused."""
    for number in (float(schedule), schedule.last):
        wrong = None if one.check is None else one.check(number)
        if wrong is not None:
            raise InputError(f"{one.word} = {schedule}: it comes to {number:g}{wrong}")


def described(table: type[AnyTable]) -> type[AnyTable]:
    """The class with its SETTINGS, which are also listed in its docstring, so that `help` shows them."""
    table.SETTINGS = _read_settings(table)
    table.__doc__ = f"{table.__doc__}\n\n{describe_settings(table)}"
    return table


def describe_settings(table: type[Table]) -> str:
    """The settings of a table with their defaults and descriptions, a paragraph each."""
    blocks = [f"[{table.TABLE}]"]
    for one in table.SETTINGS:
        free = "" if one.decides else " A resume may change it."
        text = f"{one.help}.{free}"
        lines = textwrap.fill(text, 88, break_on_hyphens=False)
        blocks.append(f"    {one.name} = {one.usual}\n{textwrap.indent(lines, ' ' * 8)}")
    return "\n".join(blocks)


def positive(value: float) -> str | None:
    """For numbers that must be finite and greater than 0."""
    return None if math.isfinite(value) and value > 0 else ", but it must be positive"


def at_least_one(value: float) -> str | None:
    """For counts of things that there must be."""
    return None if value >= 1 else ", but it must be at least 1"


def not_negative(value: int) -> str | None:
    """For counts that may be 0."""
    return None if value >= 0 else ", but it must not be negative"


def count_or_share(cohort: int | float) -> str | None:
    """For the clients per round: 1 is one client, 1.0 is everybody."""
    if isinstance(cohort, int):
        return None if cohort >= 1 else " clients per round, but it must be at least 1"
    if math.isfinite(cohort) and 0 < cohort <= 1:
        return None
    return ", but a share must lie in (0, 1]; for a number of clients write it without a point"


def size(text: str) -> None:
    """For amounts of memory; the error is that of `parse_size`."""
    parse_size(text)


def options_of(kind: Any) -> tuple[Any, ...]:
    """The members of a union; a type that is none, alone."""
    origin = typing.get_origin(kind)
    return typing.get_args(kind) if origin is not None and origin is not Literal else (kind,)


def _plain(value: Any, kind: Any) -> Any:
    """numpy's scalars as Python's, paths as text; everything else as it is."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, os.PathLike) and str in options_of(kind):
        return os.fspath(value)
    return value


def _fits(value: object, kind: Any) -> bool:
    for option in options_of(kind):
        if typing.get_origin(option) is Literal:
            if isinstance(value, str) and value in typing.get_args(option):
                return True
        elif option is float:
            if isinstance(value, int | float) and not isinstance(value, bool):
                return True
        elif option is int:
            if isinstance(value, int) and not isinstance(value, bool):
                return True
        elif isinstance(value, option):
            return True
    return False


def _as_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _wanted(kind: Any) -> str:
    words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    parts = []
    for option in options_of(kind):
        if typing.get_origin(option) is Literal:
            parts.append("one of " + ", ".join(map(str, typing.get_args(option))))
        elif option is not type(None):
            parts.append(words[option])
    return " or ".join(parts)


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
