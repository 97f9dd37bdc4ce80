"""Methods that cover the table of parts: each part beside the defaults, and every pair over two axes."""

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

from bherd.errors import InputError
from bherd.method import Method
from bherd.parts.part import Part
from bherd.parts.spec import build
from bherd.parts.table import TABLE

COHORT = 3
"""As many as Krum needs, and fewer than all."""

OTHERS = {
    "participation": {"listed": "listed,clients=0+2+3"},
    "transform": {"clip": "clip,norm=2.0", "top-k": "top-k,share=0.2", "quantize": "quantize,bits=4"},
    "aggregation": {"trimmed": "trimmed,share=0.34"},
}
"""Parameters that make a part do something in a federation this small."""

MORE = {
    "optimizer": ["sgd,momentum=0.5", "sgd,momentum=0.5,nesterov=true", "sgd,weight_decay=0.1,clip=0.7"],
    "selector": ["herding,alpha=linear:0.3:1.0:3"],
    "server": ["sgd,lr=step:1.0:0.5:2"],
    "correction": ["proximal,mu=warmup:0.5:3"],
}
"""Beside each part once: other parameters that take another way through the code."""


@cache
def texts(axis: str) -> tuple[str, ...]:
    """Every part of an axis as a text, the default first."""
    row = TABLE[axis]
    names = [row.default, *(name for name in row.parts if name != row.default)]
    return (*(OTHERS.get(axis, {}).get(name, name) for name in names), *MORE.get(axis, []))


def method(chosen: dict[str, str]) -> Method:
    """FedAvg with these parts, by their texts."""
    made: dict[str, Any] = {axis: build(axis, text) for axis, text in chosen.items()}
    return Method(**made)


def is_refused(chosen: dict[str, str]) -> bool:
    """Whether the parts make no method together."""
    try:
        method(chosen)
    except InputError:
        return True
    return False


def every_part() -> Iterator[Part]:
    """Every part of the table and its other parameters."""
    for axis in TABLE:
        for text in texts(axis):
            yield build(axis, text)


def alone() -> dict[str, Method]:
    """Each part in FedAvg's place."""
    return {f"{axis}={text}": method({axis: text}) for axis in TABLE for text in texts(axis)}


Pair = tuple[tuple[str, str], tuple[str, str]]


def all_pairs() -> list[Pair]:
    """Every part of an axis with every part of another."""
    return [
        ((one, first), (other, second))
        for one, other in itertools.combinations(TABLE, 2)
        for first in texts(one)
        for second in texts(other)
    ]


@cache
def refused_pairs() -> frozenset[Pair]:
    """Those of them that make no method."""
    return frozenset(pair for pair in all_pairs() if is_refused(dict(pair)))


@cache
def pairwise() -> dict[str, Method]:
    """Few methods in which every pair that is not refused occurs: a greedy covering array."""
    left = dict.fromkeys(pair for pair in all_pairs() if pair not in refused_pairs())
    made: dict[str, Method] = {}
    while left:
        chosen = dict(next(iter(left)))
        for axis in TABLE:
            if axis not in chosen:
                chosen[axis] = max(texts(axis), key=lambda text, axis=axis: _gain(chosen, axis, text, left))  # type: ignore[misc]
        for pair in _pairs(chosen):
            left.pop(pair, None)
        shown = " ".join(f"{axis}={text}" for axis, text in chosen.items() if text != texts(axis)[0])
        made[shown] = method(chosen)
    return made


def _pairs(chosen: dict[str, str]) -> Iterator[Pair]:
    """The pairs in a method, each in the order of the table."""
    for one, other in itertools.combinations(TABLE, 2):
        if one in chosen and other in chosen:
            yield (one, chosen[one]), (other, chosen[other])


def _gain(chosen: dict[str, str], axis: str, text: str, left: dict[Pair, None]) -> int:
    """How many pairs that are left a part would add; refused with what is there: worse than any."""
    pairs = [pair for pair in _pairs({**chosen, axis: text}) if (axis, text) in pair]
    return -1 if any(pair in refused_pairs() for pair in pairs) else sum(pair in left for pair in pairs)
