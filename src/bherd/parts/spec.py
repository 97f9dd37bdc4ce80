"""A part by its text, 'NAME[,key=value]...', ours or a user's 'package.module:factory'.

The text is the same in Python, in TOML, in flags, on the wire and in labels. Reading a text imports
nothing; `complete` and `build` import the part's module. Floats are written so that they come back as
they were.
"""

import dataclasses
import importlib
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from bherd.errors import InputError
from bherd.names import did_you_mean
from bherd.parts.part import Part
from bherd.parts.schedule import Schedule, is_schedule
from bherd.parts.table import TABLE

Value = bool | int | float | str | tuple[int, ...]

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_OWN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
_KEY = re.compile(r"[a-z_][a-z0-9_]*")


class Spec(NamedTuple):
    """The name of a part and its parameters as texts, in order.

    >>> str(Spec.read("selector", "herding,alpha=0.3"))
    'herding,alpha=0.3'
    """

    name: str
    params: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, axis: str, text: str) -> "Spec":
        """Take a text apart, importing nothing; a name that is neither ours nor a path is an error."""
        name, *given = text.split(",")
        if name not in TABLE[axis].parts and not _OWN.fullmatch(name):
            raise InputError(
                f"{axis} = {text!r}: {name!r} is not known{did_you_mean(name, TABLE[axis].parts)}"
                " Your own part is package.module:factory."
            )
        params: list[tuple[str, str]] = []
        for one in given:
            key, equals, value = one.partition("=")
            if not equals or not _KEY.fullmatch(key) or not value:
                raise InputError(
                    f"{axis} = {text!r}: {one!r} is no parameter. A part is written NAME,key=value,..."
                )
            if key in dict(params):
                raise InputError(f"{axis} = {text!r}: {key} is given twice. Leave one of them out.")
            params.append((key, value))
        return cls(name, tuple(params))

    def __str__(self) -> str:
        return ",".join([self.name, *(f"{key}={value}" for key, value in self.params)])

    @property
    def is_own(self) -> bool:
        """Whether it is a user's part."""
        return ":" in self.name

    def refined(self, **params: str) -> "Spec":
        """The same with some parameters set."""
        return Spec(self.name, tuple({**dict(self.params), **params}.items()))


def complete(axis: str, text: str) -> str:
    """The text with every parameter, defaults included, in the order of the part's own fields.

    >>> complete("server", "adam,lr=0.5")
    'adam,lr=0.5,beta1=0.9,beta2=0.99,tau=0.001'
    """
    return _complete(axis, text)[0]


def build(axis: str, text: str) -> Part:
    """The part of a text.

    Raises:
        InputError: the name, a parameter or a value is not right, or a user's module cannot be used.
    """
    return _complete(axis, text)[1]


def parameters(axis: str, name: str) -> Mapping[str, Any]:
    """The parameters of a part and their defaults, by its name."""
    return {key: default for key, (_, default) in _signature(axis, name).items()}


def describe_part(axis: str, name: str) -> str:
    """What a part does: the first paragraph of its docstring, in one line."""
    about = (inspect.getdoc(_factory(axis, name)) or "").split("\n\n")[0].replace("\n", " ")
    return about[:-1] + "." if about.endswith((":", ",")) else about


@lru_cache(maxsize=1024)
def _complete(axis: str, text: str) -> tuple[str, Part]:
    spec = Spec.read(axis, text)
    known = _signature(axis, spec.name)
    given = dict(spec.params)
    for key in given:
        if key not in known:
            has = f" has no parameter {key!r}" + (did_you_mean(key, known) if known else "; it has none.")
            raise InputError(f"{axis} = {text!r}: {spec.name}{has}")
    values: dict[str, Value] = {}
    for key, (kind, default) in known.items():
        if key in given:
            values[key] = _value(f"{axis} = {text!r}: {key}", kind, given[key])
        elif default is inspect.Parameter.empty:
            raise InputError(f"{axis} = {text!r}: {key} is missing. Write {spec.name},{key}=...")
        else:
            values[key] = default
    part = _make(axis, spec.name, values)
    for key, value in values.items():
        if isinstance(value, Schedule):  # the numbers of later rounds are checked now
            _make(axis, text, {**values, key: value.last})
    return str(Spec(spec.name, tuple((key, text_of(value)) for key, value in values.items()))), part


def _make(axis: str, text: str, values: Mapping[str, Value]) -> Part:
    part: object
    name = text.partition(",")[0]
    try:
        part = _factory(axis, name)(**values)
    except InputError as error:
        raise InputError(f"{axis} = {text!r}: {error}") from error
    except Exception as error:
        if ":" not in name:
            raise
        raise InputError(f"{axis} = {name!r}: it raised {type(error).__name__}: {error}") from error
    base = base_of(axis)
    if not isinstance(part, base) or not hasattr(part, "__dataclass_fields__"):
        raise InputError(
            f"{axis} = {name!r}: it gives a {type(part).__name__}, but a frozen dataclass that extends "
            f"{base.__module__}.{base.__name__} is expected."
        )
    return part


def base_of(axis: str) -> type[Part]:
    """The abstract class that every part of an axis extends."""
    module, _, name = TABLE[axis].base.partition(":")
    base: type[Part] = getattr(importlib.import_module(module), name)
    return base


def _factory(axis: str, name: str) -> Callable[..., Any]:
    path = TABLE[axis].parts.get(name, name)
    module_name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(module_name)
        factory = getattr(module, attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{axis} = {name!r}: it cannot be imported: {error}") from error
    if not callable(factory):
        raise InputError(f"{axis} = {name!r}: it is a {type(factory).__name__}, not a class or a function.")
    return typing.cast(Callable[..., Any], factory)


@lru_cache(maxsize=1024)
def _signature(axis: str, name: str) -> dict[str, tuple[Any, Any]]:
    """Each parameter's type and default, from the factory's own signature."""
    factory = _factory(axis, name)
    kinds = typing.get_type_hints(factory.__init__ if inspect.isclass(factory) else factory)
    found = {}
    for key, parameter in inspect.signature(factory).parameters.items():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise InputError(f"{axis} = {name!r}: its parameter {key} has no name of its own.")
        kind = kinds.get(key, type(parameter.default))
        if kind not in (bool, int, float, str, tuple[int, ...]):
            raise InputError(
                f"{axis} = {name!r}: its parameter {key} is a {kind}, but bool, int, float, str or "
                "tuple[int, ...] is expected."
            )
        found[key] = kind, parameter.default
    return found


def _value(what: str, kind: Any, text: str) -> Value:
    if kind is str:
        return text
    if kind is bool:
        if text not in ("true", "false"):
            raise InputError(f"{what} = {text!r}: must be true or false.")
        return text == "true"
    if kind is float and is_schedule(text):
        try:
            return Schedule(text)
        except InputError as error:
            raise InputError(f"{what} = {error}") from error
    try:
        if kind == tuple[int, ...]:
            return tuple(int(number) for number in text.split("+"))
        return typing.cast(Value, kind(text))
    except ValueError:
        words = {
            int: "a whole number",
            float: "a number, or a schedule such as linear:0.3:1.0:50",
            tuple[int, ...]: "numbers such as 0+3+7",
        }
        raise InputError(f"{what} = {text!r}: must be {words[kind]}.") from None


def text_of(value: Any) -> str:
    """A parameter as it is written: it comes back as the same value.

    >>> text_of(True), text_of(0.1), text_of(2.0), text_of((0, 3))
    ('true', '0.1', '2.0', '0+3')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "+".join(str(number) for number in value)
    if isinstance(value, Schedule):
        return value.text
    return repr(float(value)) if isinstance(value, float) else str(value)


_NAMES = {(axis, path): name for axis, (_, _, _, parts) in TABLE.items() for name, path in parts.items()}


def spec_of(part: Part) -> Spec:
    """The name and all parameters of a part; a user's is named after its class."""
    kind = type(part)
    path = f"{kind.__module__}:{re.sub(r'[^A-Za-z0-9_]+', '_', kind.__qualname__)}"
    fields = dataclasses.fields(part)  # type: ignore[arg-type]  # every part is a dataclass
    params = tuple((field.name, text_of(getattr(part, field.name))) for field in fields if field.init)
    return Spec(_NAMES.get((part.AXIS, path), path), params)
