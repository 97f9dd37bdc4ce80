"""What clients visit, in which order: fixed, reshuffled, or learnt from the last epoch."""

from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bherd.algorithms.grab import balanced_order
from bherd.algorithms.herding import herding_order
from bherd.errors import InputError
from bherd.loop.visits import all_visits, plan_steps
from bherd.orders.base import Order
from bherd.orders.fixed import FixedOrder
from bherd.orders.grab import GrabOrder
from bherd.orders.herded import HerdedOrder
from bherd.orders.learnt import LearntOrder
from bherd.orders.reshuffled import Reshuffled
from bherd.parts.part import Tensors
from bherd.parts.records import Plan
from bherd.parts.spec import build
from bherd.parts.table import TABLE
from bherd.streams import stream

PARTS: list[Order] = [FixedOrder(), Reshuffled(), GrabOrder(True, 3), HerdedOrder(frozen=2)]
CONTROLS = [(False, 0), (True, 0), (False, 2), (True, 2)]
LEARNT: list[LearntOrder] = [
    *(GrabOrder(*control) for control in CONTROLS),
    *(HerdedOrder(*control) for control in CONTROLS),
]
every_part = pytest.mark.parametrize("part", PARTS, ids=str)
every_learnt = pytest.mark.parametrize("part", LEARNT, ids=str)
plans = st.tuples(st.integers(1, 40), st.integers(1, 7), st.sampled_from([0.1, 0.5, 1.0, 1.5, 2.0, 3.7]))

whole_traces = arrays(
    np.float64, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.integers(-4, 4).map(float)
)

Array = npt.NDArray[Any]


def visit(part: Order, plan: Plan, samples: int, state: Tensors | None = None, round: int = 1) -> Any:
    found, after = part.visit(state or {}, plan, samples, stream(7, "order", round, 2))
    assert after == (state or {})
    return found


def batches(part: Order, plan: Plan, state: Tensors) -> list[int]:
    """The numbers of the batches that the steps see."""
    rows = visit(part, plan, plan.per_epoch * plan.batch, state).reshape(plan.steps, plan.batch)
    assert (rows % plan.batch == np.arange(plan.batch)).all()
    return [int(row[0]) // plan.batch for row in rows]


def by_the_book(trace: Array, mean: Array) -> list[int]:
    """GraB's order as it is written: two norms per step, positions from both ends."""
    order: list[int | None] = [None] * len(trace)
    total, left, right = np.zeros(trace.shape[1]), 0, len(trace) - 1
    for step, gradient in enumerate(trace):
        centred = gradient - mean
        if np.linalg.norm(total + centred) < np.linalg.norm(total - centred):
            order[left], left, total = step, left + 1, total + centred
        else:
            order[right], right, total = step, right - 1, total - centred
    return [step for step in order if step is not None]


def test_every_order_of_the_table_is_tested_here() -> None:
    assert {str(part).split(",")[0] for part in PARTS} == set(TABLE["order"].parts)
    assert [part.learns for part in PARTS] == [False, False, True, True]


@every_part
def test_the_text_of_an_order_gives_it_back(part: Order) -> None:
    assert build("order", str(part)) == part
    assert build("order", str(part).split(",")[0]) == type(part)()


def test_a_fixed_order_needs_no_list() -> None:
    assert visit(FixedOrder(), Plan(5, 2, 2), 4) is None


@given(plans, st.integers(1, 50))
def test_reshuffled_draws_a_permutation_for_each_epoch(sizes: tuple[int, int, float], round: int) -> None:
    samples, batch, epochs = sizes
    plan = plan_steps(samples, batch, epochs)
    draw = stream(7, "order", round, 2)
    expected: list[int] = []
    while len(expected) < plan.steps * plan.batch:
        expected += draw.permutation(samples)[: plan.per_epoch * plan.batch].tolist()
    found = visit(Reshuffled(), plan, samples, round=round)
    assert found.dtype == np.int64
    assert found.tolist() == expected[: plan.steps * plan.batch]


@given(plans)
def test_a_learnt_order_begins_with_the_fixed_one(sizes: tuple[int, int, float]) -> None:
    samples, batch, epochs = sizes
    plan = plan_steps(samples, batch, epochs)
    for part in LEARNT:
        assert visit(part, plan, samples).tolist() == all_visits(plan, None).tolist()


def test_grab_by_hand() -> None:
    """Backward: 1, 3, -4; forward: 2. Then the mean of that epoch, 1/2, is taken off."""
    plan = Plan(steps=4, batch=3, per_epoch=4)
    trace = torch.tensor([[1.0], [2.0], [3.0], [-4.0]])
    state = GrabOrder().observe({}, plan, trace)
    assert batches(GrabOrder(), plan, state) == [1, 3, 2, 0]
    assert visit(GrabOrder(), plan, 12, state).tolist() == [3, 4, 5, 9, 10, 11, 6, 7, 8, 0, 1, 2]
    assert state["mean"].tolist() == [0.5]
    assert int(state["learnt"]) == 1
    # 0.5: back; 1.5: front, s = 1; -0.5: front, s = 0.5; 0.5: back -> steps 1, 2, 3, 0 of 1, 3, 2, 0
    state = GrabOrder().observe(state, plan, torch.tensor([[1.0], [2.0], [0.0], [1.0]]))
    assert batches(GrabOrder(), plan, state) == [3, 2, 0, 1]
    assert (state["mean"].tolist(), int(state["learnt"])) == ([1.0], 2)


def test_the_last_whole_epoch_counts_and_the_one_before_gives_the_mean() -> None:
    plan = Plan(steps=8, batch=1, per_epoch=3)
    trace = torch.randn((8, 2), generator=torch.Generator().manual_seed(1))
    state = GrabOrder().observe({"mean": torch.full((2,), 100.0)}, plan, trace)
    assert state["order"].tolist() == by_the_book(trace[3:6].numpy(), trace[:3].mean(0).numpy())
    assert torch.allclose(state["mean"], trace[3:6].mean(0))
    assert batches(GrabOrder(), plan, state) == (state["order"].tolist() * 3)[:8]
    herded = HerdedOrder().observe({}, plan, trace)
    assert herded["order"].tolist() == herding_order(trace[3:6], 3).tolist()
    assert set(herded) == {"order", "learnt"}


@given(whole_traces)
def test_grabs_order_against_the_book(trace: Array) -> None:
    for mean in (np.zeros(trace.shape[1]), np.ones(trace.shape[1])):
        found = balanced_order(torch.from_numpy(trace), torch.from_numpy(mean)).tolist()
        assert sorted(found) == list(range(len(trace)))
        assert found == by_squares(trace, mean)
    assert balanced_order(torch.from_numpy(trace)).tolist() == by_squares(trace, np.zeros(trace.shape[1]))


def by_squares(trace: Array, mean: Array) -> list[int]:
    """As `by_the_book`, by squares, which are exact for whole numbers."""
    total = np.zeros(trace.shape[1])
    front: list[int] = []
    back: list[int] = []
    for step, centred in enumerate(trace - mean):
        plus = np.square(total + centred).sum() < np.square(total - centred).sum()
        total = total + centred if plus else total - centred
        (front if plus else back).append(step)
    return [*front, *back[::-1]]


def test_a_balanced_order_is_shorter_than_the_usual_one() -> None:
    """The longest prefix sum of the centred gradients, after some epochs of GraB, beside random orders."""
    trace = torch.randn((60, 3), generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    centred = trace - trace.mean(0)

    def longest(order: list[int]) -> float:
        return float(centred[order].cumsum(0).norm(dim=1).max())

    plan = Plan(60, 1, 60)
    state: Tensors = {}
    for _ in range(10):
        order = batches(GrabOrder(), plan, state)
        state = GrabOrder().observe(state, plan, trace[order])
    draw = stream(0, "order")
    chance = [longest(draw.permutation(60).tolist()) for _ in range(50)]
    assert longest(batches(GrabOrder(), plan, state)) < min(chance)
    herded = HerdedOrder().observe({}, plan, trace)
    assert longest(batches(HerdedOrder(), plan, herded)) < min(chance)


@every_learnt
@given(st.lists(st.sampled_from([2, 4, 6, 8, 13]), min_size=1, max_size=5), st.integers(0, 1000))
def test_learnt_orders_are_permutations_round_after_round(
    part: LearntOrder, lengths: list[int], seed: int
) -> None:
    draw = torch.Generator().manual_seed(seed)
    state: Tensors = {}
    learnt = 0
    for steps in lengths:
        plan = Plan(steps, batch=2, per_epoch=4)
        order = batches(part, plan._replace(steps=4), state)
        assert sorted(order) == [0, 1, 2, 3]
        before = {name: tensor.clone() for name, tensor in state.items()}
        after = part.observe(state, plan, torch.randn((steps, 3), generator=draw))
        assert state.keys() == before.keys()
        assert all(torch.equal(state[name], before[name]) for name in before)
        learns = steps >= 4 and (part.frozen == 0 or learnt < part.frozen)
        learnt += learns
        assert (after is state) == (not learns)
        assert learnt == 0 or int(after["learnt"]) == learnt
        state = after


@pytest.mark.parametrize("kind", [GrabOrder, HerdedOrder])
def test_reversed_plays_the_learnt_order_backwards(kind: type[LearntOrder]) -> None:
    plan = Plan(6, 1, 6)
    trace = torch.randn((6, 2), generator=torch.Generator().manual_seed(2))
    forwards = batches(kind(), plan, kind().observe({}, plan, trace))
    assert forwards not in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0])
    part = kind(reversed=True)
    assert batches(part, plan, part.observe({}, plan, trace)) == forwards[::-1]


@pytest.mark.parametrize("kind", [GrabOrder, HerdedOrder])
def test_herding_follows_the_batches_wherever_they_stand(kind: type[LearntOrder]) -> None:
    """A second round over the same gradients: herding finds the same batches from any order."""
    plan = Plan(7, 1, 7)
    gradients = torch.randn((7, 3), generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    orders = []
    for start in list(permutations(range(7)))[::1000]:
        state = {"order": torch.tensor(start), "learnt": torch.tensor(1)}
        after = kind().observe(state, plan, gradients[list(start)])
        orders.append(after["order"].tolist())
        if kind is HerdedOrder:
            assert orders[-1] == herding_order(gradients, 7).tolist()
        else:
            played = gradients[list(start)].numpy()
            assert orders[-1] == [start[i] for i in by_squares(played, np.zeros(3))]


def test_another_number_of_batches_starts_anew() -> None:
    state = {"order": torch.tensor([2, 0, 1]), "learnt": torch.tensor(1)}
    assert batches(GrabOrder(), Plan(4, 1, 4), state) == [0, 1, 2, 3]


def test_a_count_of_rounds_below_zero_is_refused() -> None:
    with pytest.raises(InputError, match="frozen = -1: must be a whole number of 0 or more"):
        build("order", "grab,frozen=-1")
