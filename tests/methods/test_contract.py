"""What holds for every part of the table: alone beside the defaults, and in pairs over the axes."""

import pickle
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

import pytest
import torch

from bherd.config import Config, MethodConfig
from bherd.engines import ReferenceEngine, SimulateEngine
from bherd.errors import InputError
from bherd.labels import as_argument, folder_name, method_label
from bherd.loop.client import Outcome
from bherd.loop.engine import Engine
from bherd.loop.rounds import run_rounds
from bherd.loop.state import Local, RunPlan, State, start_state
from bherd.method import Method
from bherd.methods import config_of, method_of, named
from bherd.parts.part import Part
from bherd.parts.presets import PRESETS
from bherd.parts.records import STEP_LENGTHS
from bherd.parts.schedule import Schedule
from bherd.parts.spec import base_of, build, complete, parameters
from bherd.parts.table import TABLE
from bherd.runs.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from bherd.runs.header import Header, Origin
from bherd.tasks.task import Task
from tests.covering import COHORT, alone, every_part, pairwise, refused_pairs
from tests.tiny import assert_same_state, tiny_task

ALL = {**alone(), **pairwise()}
every_method = pytest.mark.parametrize("name", ALL)
every_table_part = pytest.mark.parametrize("part", list(every_part()), ids=str)
ROUNDS = 4
LOCAL = Local(batch_size=10, epochs=1.5, lr=0.05, seed=3)
PLAN = RunPlan(ROUNDS, COHORT, LOCAL.epochs, LOCAL.lr, LOCAL.seed, eval_every=ROUNDS)
ORIGIN = Origin({}, {}, "", {})


@cache
def federation(model: str = "svm") -> Task:
    """Unequal clients: 2 to 6 steps per round, of which the last is in a second epoch."""
    return tiny_task(model, [25, 40, 33, 18, 29])


def rounds(engine: Engine, method: Method, start: State | None = None) -> list[State]:
    """The states after every round."""
    task = federation()
    with closing(engine):
        begin = start_state(task, method) if start is None else start
        made = []
        for state, record in run_rounds(engine, task, method, PLAN, begin):
            assert not record.diverged
            made.append(state)
    return made


class Backwards(ReferenceEngine):
    """An engine whose clients report in the reverse order, as those of a network may."""

    def run_clients(self, state: State, clients: Sequence[int]) -> list[Outcome]:
        return super().run_clients(state, clients)[::-1]


@every_method
def test_engines_agree_and_neither_the_order_of_clients_nor_a_stop_changes_a_bit(
    name: str, tmp_path: Path
) -> None:
    """`simulate` is `reference`; who reports first does not matter; and any round can be taken up again."""
    task, method = federation(), ALL[name]
    states = rounds(ReferenceEngine(task, method, LOCAL), method)
    assert not torch.equal(states[-1].params, states[0].params)
    assert_same_state(rounds(Backwards(task, method, LOCAL), method)[-1], states[-1])
    fast = rounds(SimulateEngine(task, method, LOCAL), method)
    assert_same_state(fast[-1], states[-1], rtol=1e-10, atol=1e-12)
    for number in (1, 2):
        path = tmp_path / f"{number}.safetensors"
        save_checkpoint(path, Checkpoint(fast[number - 1], Header(number, {}, ORIGIN, 0.0, None, {})))
        again = load_checkpoint(path).state
        assert_same_state(again, fast[number - 1])
        assert_same_state(rounds(SimulateEngine(task, method, LOCAL), method, again)[-1], fast[-1])


@pytest.mark.parametrize("name", list(pairwise())[::6])
def test_engines_agree_on_a_network_too(name: str) -> None:
    """By autograd in place of the closed form of linear models."""
    task, method = tiny_task("mlp", [25, 40, 33, 18, 29]), ALL[name]
    ends = []
    for engine in (ReferenceEngine(task, method, LOCAL), SimulateEngine(task, method, LOCAL, workers=2)):
        with closing(engine):
            *_, (state, _) = run_rounds(engine, task, method, PLAN, start_state(task, method))
            ends.append(state)
    assert_same_state(ends[0], ends[1], rtol=1e-9, atol=1e-12)


def test_the_pairs_that_make_no_sense_are_these() -> None:
    """And each is refused with a reason."""
    named = {
        f"{one}={first.partition(',')[0]} {other}={second.partition(',')[0]}"
        for (one, first), (other, second) in refused_pairs()
    }
    lossy = [name for name in TABLE["transform"].parts if name != "none"]
    assert named == {
        "optimizer=sgd correction=control-variates",  # with momentum
        "optimizer=sgd aggregation=nova",  # with momentum
        "correction=control-variates transform=gaussian",
        *(f"correction=dynamic transform={name}" for name in lossy),
    }
    for pair in refused_pairs():
        parts = {axis: build(axis, text) for axis, text in pair}
        with pytest.raises(InputError, match=r".* = .* with .* = .*: .*\. Change one of them\."):
            replace(Method(), **parts)  # type: ignore[arg-type]


def test_a_pair_that_makes_no_sense_in_a_later_round_is_refused_at_once() -> None:
    for schedule in ("linear:0:0.9:10", "warmup:0.9:5", "linear:0.9:0:10"):
        with pytest.raises(InputError, match="with correction = control-variates"):
            named("scaffold", optimizer=f"sgd,momentum={schedule}")


@every_table_part
def test_a_part_is_its_text(part: Part) -> None:
    """Frozen, hashable, described, and the same again from its text, from a pickle and at its defaults."""
    axis = part.AXIS
    assert isinstance(part, base_of(axis))
    assert build(axis, str(part)) == part
    assert complete(axis, str(part)) == str(part)
    assert pickle.loads(pickle.dumps(part)) == part  # noqa: S301  # our own bytes
    assert len({part, build(axis, str(part))}) == 1
    assert len((part.__doc__ or "").splitlines()) > 1
    name = str(part).partition(",")[0]
    assert list(parameters(axis, name)) == [field.name for field in fields(part)]  # type: ignore[arg-type]
    for field in fields(part):  # type: ignore[arg-type]
        with pytest.raises(AttributeError):
            setattr(part, field.name, 1)


CANDIDATES: dict[type, list[object]] = {
    float: [0.25, 1e-05, 0.1 + 0.2, 1.0, 7.5, Schedule("linear:0.25:0.4:5"), Schedule("cosine:0.4:0.3:9")],
    int: [1, 2, 3, 7],
    bool: [True, False],
    tuple: [(0,), (2, 5)],
}


def changed(part: Part, name: str, value: object) -> Part | None:
    """The part with another parameter; None if that is refused, which it is in one pattern."""
    try:
        made = replace(part, **{name: value})  # type: ignore[type-var]
        build(part.AXIS, str(made))
    except InputError as error:
        found = re.search(r"= .*: .*\. Try .*\.", str(error))
    else:
        return made
    assert found
    return None


@every_table_part
def test_every_number_of_a_part_comes_back_from_its_text(part: Part) -> None:
    for field in fields(part):  # type: ignore[arg-type]
        value = getattr(part, field.name)
        kind = float if isinstance(value, Schedule) else type(value)
        taken = 0
        for candidate in CANDIDATES[kind]:
            other = changed(part, field.name, candidate)
            if other is None:
                continue
            taken += 1
            assert build(part.AXIS, str(other)) == other
            assert getattr(build(part.AXIS, str(other)), field.name) == candidate
        assert taken > 0


def variations() -> list[MethodConfig]:
    """Many methods: all pairs of parts, all presets with all steps, and other numbers."""
    made = [config_of(method) for method in ALL.values()]
    for name in PRESETS:
        made.append(MethodConfig(name))
        made += [MethodConfig(name, order=order) for order in TABLE["order"].parts]
        if made[-1].selects:
            made += [MethodConfig(name, step=step) for step in STEP_LENGTHS]
    for part in every_part():
        for field in fields(part):  # type: ignore[arg-type]
            for candidate in CANDIDATES.get(type(getattr(part, field.name)), []):
                other = changed(part, field.name, candidate)
                if other is not None:
                    made.append(config_of(replace(Method(), **{part.AXIS: other})))  # type: ignore[arg-type]
    return made


def test_labels_tell_methods_apart_and_give_them_back() -> None:
    """One label, one folder, one argument for each method, and `--method` takes the argument."""
    tables = set(variations())
    assert len(tables) > 400
    configs = [replace(Config(), method=table) for table in tables]
    for text in (method_label, folder_name):
        shown = [text(config) for config in configs]
        twice = sorted(label for label in set(shown) if shown.count(label) > 1)
        assert not twice
    for table in tables:
        assert MethodConfig(as_argument(table)) == table, as_argument(table)
        assert config_of(method_of(table)) == replace(table, name=config_of(method_of(table)).name)


def test_importing_parts_and_methods_imports_neither_torch_nor_numpy() -> None:
    modules = {path.partition(":")[0] for row in TABLE.values() for path in row.parts.values()}
    names = ", ".join(["bherd.methods", "bherd.labels", "bherd.parts.presets", *sorted(modules)])
    code = f"import sys, {names}; print({{'torch', 'numpy'}} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
