"""The contract that our own parts pass, for parts of your own.

from bherd.testing import check

def test_my_selector():
    check(MySelector(share=0.3))
"""

import dataclasses
import pickle
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bherd.config import Config
from bherd.errors import BherdError, InputError
from bherd.loop.memory import pack_clients, pack_server, unpack_clients, unpack_server
from bherd.loop.rounds import run_rounds
from bherd.loop.state import State, start_state
from bherd.method import Method
from bherd.parts.part import Part
from bherd.parts.spec import base_of, build
from bherd.parts.table import AXES
from bherd.session import Session, prepare
from bherd.tasks.datasets import Dataset
from bherd.tasks.task import Task, build_task

__all__ = ["ContractError", "check"]

ROUNDS, CLIENTS = 4, 6
SAME = 1e-9
"""What the fast engine may differ by from the plain one, in double precision."""


class ContractError(BherdError):
    """A part does not keep its contract; the message says which sentence of it."""


def check(part: Part, method: Method | None = None) -> None:
    """Try a part as the round loop would, on a small federation, and raise at the first broken promise.

    It must be a frozen dataclass that comes back from its text and from pickle; give the same results again,
    on both engines, and from a state that was saved and loaded; leave its inputs as they are; and keep
    numbers finite.

    Args:
        part: a part of any axis.
        method: what to try it in; FedAvg with half of the clients per round where it is left out.

    Raises:
        ContractError: naming the promise and what happened instead.

    >>> from bherd.selectors.herding import Herding
    >>> check(Herding(alpha=0.3))
    """
    _check_value(part)
    tried = dataclasses.replace(method or Method(), **_with(part, method))
    states = {engine: list(_states(tried, engine)) for engine in ("simulate", "reference")}
    again = list(_states(tried, "simulate"))
    fast, plain = states["simulate"], states["reference"]
    if not all(_same(a, b) for a, b in zip(fast, again, strict=True)):
        raise ContractError(f"{part}: two runs with one seed differ. Draw from the given stream only.")
    if not bool(torch.isfinite(fast[-1].params).all()):
        raise ContractError(f"{part}: the parameters are no longer finite after {ROUNDS} rounds.")
    gap = float((fast[-1].params - plain[-1].params).abs().max())
    if gap > SAME:
        raise ContractError(f"{part}: the engines differ by {gap:.3g}. Let nothing depend on rounding.")
    resumed = list(_states(tried, "simulate", _saved_and_loaded(part, fast[1])))
    if not _same(resumed[-1], fast[-1]):
        raise ContractError(f"{part}: a resumed run differs. Keep what lasts in the state, by name.")


def _with(part: Part, method: Method | None) -> dict[str, Any]:
    """The change that puts a part into a method; another selector has a step and an order of its own."""
    if part.AXIS != "selector" or method is not None:
        return {part.AXIS: part}
    return {"selector": part, "step": None, "order": None}


def _check_value(part: Part) -> None:
    """It is a value: frozen, hashable, equal to what its text and its pickle give back."""
    axis = getattr(part, "AXIS", None)
    if axis not in AXES or not isinstance(part, base_of(axis)):
        raise ContractError(f"{part!r}: must extend the base class of one of the axes {', '.join(AXES)}.")
    about = getattr(type(part), "__dataclass_params__", None)
    if about is None or not about.frozen:
        raise ContractError(f"{type(part).__name__}: must be a frozen dataclass.")
    hash(part)
    try:
        copies = [build(axis, str(part)), pickle.loads(pickle.dumps(part))]  # noqa: S301  made a line before
    except (InputError, pickle.PicklingError, AttributeError) as error:
        raise ContractError(
            f"{part}: cannot be made again: {error}. Put the class at the top level of a module."
        ) from error
    if any(copy != part for copy in copies):
        raise ContractError(f"{part}: its text gives {copies[0]!r} back. Make every parameter a field.")


def _session(method: Method, engine: str) -> Session:
    config = Config().replace(
        clients=CLIENTS,
        cohort=0.5,
        rounds=ROUNDS,
        epochs=1.5,
        batch_size=4,
        lr=0.05,
        engine=engine,
        workers=1,
    )
    return prepare(config, task=_task(), method=method)


@cache
def _task() -> Task:
    """A hundred points of three classes, of unequal clients."""
    draw = np.random.default_rng(0)
    labels = np.arange(130) % 3
    points = (draw.normal(size=(130, 5)) + labels[:, None]).astype(np.float32)
    data = Dataset("points", points[:100], labels[:100], points[100:], labels[100:], 3)
    return build_task(data, "logistic", "dirichlet:1.0", CLIENTS, seed=0, dtype=torch.float64)


def _states(method: Method, engine: str, start: State | None = None) -> Iterator[State]:
    """The states after each round, from the start or from a state in between."""
    session = _session(method, engine)
    state = start_state(session.task, session.method) if start is None else start
    with closing(session.engine()) as running:
        for after, record in run_rounds(running, session.task, session.method, session.plan, state):
            if record.diverged:
                raise ContractError(f"{method}: the run diverged in round {record.round}.")
            yield after


def _saved_and_loaded(part: Part, state: State) -> State:
    tensors = {**pack_server(state.server), **pack_clients(state.clients)}
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ContractError(f"{part}: {name} is a {type(tensor).__name__}: state is named tensors only.")
    copies = {name: tensor.clone() for name, tensor in tensors.items()}
    return state._replace(server=unpack_server(copies), clients=unpack_clients(copies))


def _same(one: State, other: State) -> bool:
    return torch.equal(one.params, other.params)
