"""A method as texts: a part's text for every axis, the step, and the preset that is nearest.

The grammar is one everywhere: `PRESET[,key=value]...`, where a key is an axis (`server=adam`), a parameter
of the part on an axis (`server.lr=0.1`), `step`, or a shorthand (`alpha`, `mu`, `server_lr`) for the one part
that has it. Imports neither torch nor numpy.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bherd.errors import InputError
from bherd.names import did_you_mean
from bherd.pairs import refuse_pairs
from bherd.parts.presets import BASES, CENTRALIZED, PREFIXES, PRESETS, base_of_preset, preset_texts
from bherd.parts.records import STEP_LENGTHS
from bherd.parts.spec import Spec, build, complete, parameters
from bherd.parts.table import AXES, TABLE
from bherd.selectors.base import Selector

SHORTHANDS = {"alpha": ("selector", "alpha"), "mu": ("correction", "mu"), "server_lr": ("server", "lr")}
"""Parameters with a name of their own: which part has them, and what they are called there."""


class MethodTexts(NamedTuple):
    """A whole method: the nearest preset, a text for each axis, the step (None: everything is kept)."""

    name: str
    parts: dict[str, str]
    step: str | None


def read_method(text: str, given: Mapping[str, str | None]) -> MethodTexts:
    """A method from its preset with refinements, and from what else was given of it.

    Args:
        text: 'bherd-fedavg' or 'fedavg,server=adam,server.lr=0.1'.
        given: axes, `step` and shorthands by name; None is not given.

    Raises:
        InputError: something of it is not known, or has no effect on the method.
    """
    name, wanted = take_apart(text)
    wanted |= {key: value for key, value in given.items() if value is not None}
    parts = preset_texts(name)
    parts |= {axis: wanted.pop(axis) for axis in AXES if axis in wanted}
    step = wanted.pop("step", None)
    for key, value in wanted.items():
        axis, parameter = _place(text, key)
        parts[axis] = _set(parts.get(axis, TABLE[axis].default), axis, parameter, value, name, key)
    return _whole(name, parts, step)


def take_apart(text: str) -> tuple[str, dict[str, str]]:
    """A method's preset and its refinements, each of which is there once."""
    name, *given = text.split(",")
    if name not in PRESETS:
        raise InputError(f"method is {name!r}, which is not known{_known(name)}")
    wanted: dict[str, str] = {}
    places: list[tuple[str, str]] = []
    for one in given:
        key, equals, value = one.partition("=")
        if not equals or not value:
            raise InputError(f"method {text!r}: {one!r} is no refinement. Write it as in {_EXAMPLE}.")
        place = _place(text, key)
        if place in places:
            raise InputError(f"method {text!r}: {key} is given twice. Leave one of them out.")
        places.append(place)
        wanted[key] = value
    return name, wanted


_EXAMPLE = "fedavg,server=adam,server.lr=0.1 or bherd-fedavg,alpha=0.3,step=amplified"


def _known(name: str) -> str:
    base, colon, rest = name.partition(":")
    if colon and base in PRESETS:
        return f". What refines a method follows a comma: {base},{rest}."
    said = did_you_mean(name, PRESETS)
    named = f"; known are {', '.join([*CENTRALIZED, *BASES])}, all but the first also after "
    return said if said.endswith("?") else f"{named}{', '.join(PREFIXES)}."


def _place(text: str, key: str) -> tuple[str, str]:
    """What a key sets: an axis and a parameter of its part, '' for the whole part; or ('step', '')."""
    if key in SHORTHANDS:
        return SHORTHANDS[key]
    axis, dot, parameter = key.partition(".")
    if axis not in (TABLE if dot else (*TABLE, "step")):
        known = [*AXES, "step", *SHORTHANDS]
        raise InputError(f"method {text!r}: {key!r} is not known{did_you_mean(key, known)}")
    return axis, parameter


def _set(part: str, axis: str, parameter: str, value: str, method: str, key: str) -> str:
    spec = Spec.read(axis, part)
    if parameter not in parameters(axis, spec.name):
        raise InputError(
            f"{key} = {value}: {method} ignores it, since {_why(axis, spec.name, parameter, method)}"
        )
    return str(spec.refined(**{parameter: value}))


def _why(axis: str, name: str, parameter: str, method: str) -> str:
    if (axis, parameter) == ("selector", "alpha"):
        why = {"everything": "it keeps every gradient", "grab": "it measures a share of its own"}
        base = base_of_preset(method)
        instead = "" if method in CENTRALIZED else f", or choose bherd-{base} or random-{base}"
        return f"{why.get(name, f'{name} has no share')}. Leave it out{instead}."
    has = ", ".join(parameters(axis, name))
    return f"its {axis} is {name}, which has {f'only {has}' if has else 'no parameters'}. Leave it out."


def _whole(name: str, parts: dict[str, str], step: str | None) -> MethodTexts:
    """With every parameter spelled out, the habits filled in, and the nearest preset's name."""
    parts = {axis: _spelled(axis, text) for axis, text in parts.items()}
    if not any(Spec.read(axis, text).is_own for axis, text in parts.items()):  # else once they are imported
        refuse_pairs({axis: build(axis, text) for axis, text in parts.items()})
    if step is not None and step not in STEP_LENGTHS:
        raise InputError(f"step is {step!r}, but one of {', '.join(STEP_LENGTHS)} is expected")
    keeps_all = _keeps_all(parts["selector"])
    if keeps_all is not None:
        if keeps_all and step is not None:
            raise InputError(_no_step(name, step))
        step = None if keeps_all else step or "equation"
        parts.setdefault("order", "reshuffled" if keeps_all else "fixed")
    return MethodTexts(nearest(name, parts), {axis: parts[axis] for axis in AXES if axis in parts}, step)


def _keeps_all(text: str) -> bool | None:
    """Whether a selector keeps everything; None for a user's, which is not imported for that."""
    if Spec.read("selector", text).is_own:
        return None
    selector = build("selector", text)
    assert isinstance(selector, Selector)
    return selector.keeps_all


def _spelled(axis: str, text: str) -> str:
    """With all parameters; a user's part is not imported for that, and stays as it was written."""
    return text if Spec.read(axis, text).is_own else complete(axis, text)


def _no_step(name: str, step: str) -> str:
    said = f"step = {step}: {name} ignores it, since it keeps every gradient."
    if step != "amplified":
        return f"{said} Leave it out."
    return (
        f"{said} For the same length use server_lr = E/alpha: with E = 1 and alpha = 0.5 that is "
        f"--server-lr 2, in a comparison {same_length(name, 0.5)}."
    )


def same_length(name: str, alpha: float) -> str:
    """What gives a plain method the step of an amplified one, as a method of a comparison."""
    return f"{name},server_lr={1 / alpha:.6g}"


def nearest(name: str, parts: Mapping[str, str]) -> str:
    """The preset that the parts differ from on the fewest axes; `name` if no other is nearer."""
    names = {axis: Spec.read(axis, text).name for axis, text in parts.items() if axis != "order"}

    def away(preset: str) -> int:
        return sum(names[axis] != text for axis, text in preset_texts(preset).items())

    return min([name, *(preset for preset in PRESETS if preset not in CENTRALIZED)], key=away)


def refinements(method: MethodTexts) -> Iterator[tuple[str, str]]:
    """What makes a method of its preset, as keys and values of the grammar; the order is not among them."""
    usual = {axis: _spelled(axis, text) for axis, text in preset_texts(method.name).items()}
    for axis, text in method.parts.items():
        if axis != "order" and text != usual[axis]:
            yield from _differences(axis, Spec.read(axis, text), Spec.read(axis, usual[axis]))
    if method.step not in (None, "equation"):
        yield "step", str(method.step)


def order_refinements(method: MethodTexts) -> dict[str, str]:
    """What sets its order apart from `reshuffled`, as keys and values of the grammar."""
    if "order" not in method.parts:
        return {}
    return dict(_differences("order", Spec.read("order", method.parts["order"]), Spec("reshuffled")))


def _differences(axis: str, spec: Spec, usual: Spec) -> Iterator[tuple[str, str]]:
    known = dict(usual.params)
    if spec.name != usual.name:
        yield axis, spec.name
        known = {} if spec.is_own else dict(Spec.read(axis, complete(axis, spec.name)).params)
    short = {place: key for key, place in SHORTHANDS.items()}
    for key, value in spec.params:
        if known.get(key) != value:
            yield short.get((axis, key), f"{axis}.{key}"), value


def carried(method: MethodTexts, text: str, given: Mapping[str, object]) -> dict[str, str]:
    """Of a method's refinements and order, those that another method can take over.

    Args:
        method: the one that was.
        text: the other, as `read_method` takes it. A part that its preset sets stays the preset's, and what
            the text sets stays the text's.
        given: what else is given of the other, by name: that stays, too.
    """
    name, wanted = take_apart(text)
    here = {key: value for key, value in {**wanted, **given}.items() if value is not None}
    places = {_place(text, key) for key in here}
    parts = preset_texts(name) | {axis: str(here[axis]) for axis in AXES if axis in here}
    kept: dict[str, str] = {}
    for key, value in refinements(method):
        axis, parameter = _place(text, key)
        if {(axis, parameter), (axis, "")} & places:
            continue
        if axis == "step":
            fits = not _keeps_all(parts["selector"])
        elif parameter:
            fits = parameter in parameters(axis, Spec.read(axis, parts[axis]).name)
        else:
            fits = axis not in PRESETS[name].parts and axis not in PRESETS[method.name].parts
        if fits:
            kept[key] = value
            parts |= {axis: value} if axis in AXES and not parameter else {}
    chosen = explicit(method)
    return {**kept, "order": chosen["order"]} if "order" in chosen and "order" not in here else kept


def explicit(method: MethodTexts) -> dict[str, str]:
    """The parts and the step of a method without the order and the step that follow from its selector."""
    habit = "reshuffled" if method.step is None else "fixed"
    parts = {axis: text for axis, text in method.parts.items() if (axis, text) != ("order", habit)}
    return {**parts, "step": str(method.step)} if method.step not in (None, "equation") else parts
