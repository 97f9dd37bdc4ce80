"""Who is asked: draws, passes, balanced passes, lists."""

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bherd.errors import InputError
from bherd.participation.balanced import BalancedClients
from bherd.participation.base import Participation
from bherd.participation.listed import ListedClients
from bherd.participation.shuffled import ShuffledClients
from bherd.participation.uniform import Uniform
from bherd.parts.part import Tensors
from bherd.parts.records import Report
from bherd.parts.spec import build
from bherd.parts.table import TABLE
from bherd.streams import stream

PARTS: list[Participation] = [Uniform(), ShuffledClients(), BalancedClients(), ListedClients((3, 1))]
every_part = pytest.mark.parametrize("part", PARTS, ids=str)

Array = npt.NDArray[Any]


def ask(
    part: Participation, state: Tensors, round: int, clients: int, count: int
) -> tuple[list[int], Tensors]:
    asked, after = part.choose(state, round, clients, count, stream(5, "participation", round))
    assert asked.dtype == np.int64
    return asked.tolist(), after


def report(client: int, update: torch.Tensor, kept: int = 1) -> Report:
    return Report(client, weight=1.0, steps=kept, kept=kept, update=update * kept, kept_weight=float(kept))


def test_every_participation_of_the_table_is_tested_here() -> None:
    assert {str(part).split(",")[0] for part in PARTS} == set(TABLE["participation"].parts)


@every_part
def test_the_text_of_a_participation_gives_it_back(part: Participation) -> None:
    assert build("participation", str(part)) == part
    assert build("participation", str(part).split(",")[0]) == type(part)()


@every_part
@given(st.lists(st.integers(1, 7), min_size=1, max_size=12), st.integers(0, 99))
def test_nobody_is_asked_twice_and_memory_is_not_changed_in_place(
    part: Participation, counts: list[int], seed: int
) -> None:
    draw = torch.Generator().manual_seed(seed)
    state = part.init(torch.zeros(3), 7)
    for round, count in enumerate(counts, 1):
        before = {name: tensor.clone() for name, tensor in state.items()}
        asked, chosen = ask(part, state, round, 7, count)
        assert len(set(asked)) == len(asked) == (2 if isinstance(part, ListedClients) else count)
        assert asked == sorted(asked)
        assert set(asked) <= set(range(7))
        assert ask(part, state, round, 7, count)[0] == asked
        reports = [report(client, torch.randn(3, generator=draw)) for client in asked]
        between = {name: tensor.clone() for name, tensor in chosen.items()}
        after = part.observe(chosen, reports)
        for now, then in ((state, before), (chosen, between)):
            assert now.keys() == then.keys()
            assert all(torch.equal(now[name], then[name]) for name in then)
        state = after


@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 100), st.integers(1, 20))
def test_uniform_draws_from_its_stream(clients: int, count: int, seed: int, round: int) -> None:
    count = min(count, clients)
    asked, state = Uniform().choose({}, round, clients, count, stream(seed, "participation", round))
    drawn = stream(seed, "participation", round).choice(clients, count, replace=False, shuffle=False)
    assert asked.tolist() == (list(range(clients)) if count == clients else sorted(drawn.tolist()))
    assert state == {}


@given(st.integers(1, 12), st.lists(st.integers(1, 12), min_size=1, max_size=30))
def test_everybody_once_per_pass_whatever_the_counts(clients: int, counts: list[int]) -> None:
    state: Tensors = {}
    turns: Counter[int] = Counter(dict.fromkeys(range(clients), 0))
    for round, count in enumerate((min(count, clients) for count in counts), 1):
        asked, state = ask(ShuffledClients(), state, round, clients, count)
        turns.update(asked)
        assert len(asked) == len(set(asked)) == count
        assert max(turns.values()) - min(turns.values()) <= 1
        # Whoever is behind is who is left of the pass.
        behind = {client for client, times in turns.items() if times < max(turns.values())}
        assert set(state["rest"].tolist()) == behind


def test_a_pass_that_ends_in_a_round_is_followed_by_the_next() -> None:
    """Of 5 clients two are left, 3 and 0; the round of 4 takes them and the next pass's first two others."""
    draw = stream(5, "participation", 2)
    following = draw.permutation(5).tolist()
    asked, state = ask(ShuffledClients(), {"rest": torch.tensor([3, 0])}, 2, 5, 4)
    fresh = [client for client in following if client not in (3, 0)][:2]
    assert asked == sorted([3, 0, *fresh])
    assert state["rest"].tolist() == [client for client in following if client not in fresh]


def test_passes_are_random() -> None:
    firsts = {tuple(ask(ShuffledClients(), {}, round, 10, 3)[0]) for round in range(1, 30)}
    assert len(firsts) > 15


def test_the_list_wins_over_the_count() -> None:
    for count in (1, 2, 5):
        assert ask(ListedClients((3, 1)), {}, 1, 5, count)[0] == [1, 3]
    with pytest.raises(InputError, match=r"clients = \(3, 1\): there are clients 0 to 2 only"):
        ask(ListedClients((3, 1)), {}, 1, 3, 2)
    with pytest.raises(InputError, match=r"clients = .*none twice"):
        build("participation", "listed,clients=2+2")


class Book:
    """GraB over clients as its pseudo-code is written, with passes that may end in a round."""

    def __init__(self, queue: list[int], d: int) -> None:
        self.queue, self.left, self.right = queue, list[int](), list[int]()
        self.m, self.r, self.a, self.n = np.zeros(d), np.zeros(d), np.zeros(d), 0

    def ask(self, size: int) -> list[int]:
        return (self.queue + self.left + self.right[::-1])[:size]

    def tell(self, asked: list[int], came: dict[int, Array]) -> None:
        last = len(self.queue)
        self._tell(asked[:last], came)
        if len(asked) > last:
            self.queue = self.queue + self.left + self.right[::-1]
            self.m, self.r, self.a, self.n = self.a / self.n, self.r * 0, self.a * 0, 0
            self.left, self.right = [], []
            self._tell(asked[last:], came)

    def _tell(self, asked: list[int], came: dict[int, Array]) -> None:
        for i in (i for i in asked if i in came):
            c = came[i] - self.m
            self.a, self.n = self.a + came[i], self.n + 1
            if self.r @ c < 0:
                self.r = self.r + c
                self.left.append(i)
            else:
                self.r = self.r - c
                self.right.append(i)
        self.queue = [i for i in asked if i not in came] + [i for i in self.queue if i not in asked]


@given(st.integers(1, 12), st.lists(st.integers(1, 12), min_size=1, max_size=30), st.integers(0, 99))
def test_balanced_passes_ask_everybody_once_too(clients: int, counts: list[int], seed: int) -> None:
    """Where all come, nobody has ever been asked two times more often than another, whatever the counts."""
    draw = torch.Generator().manual_seed(seed)
    part = BalancedClients()
    state = part.init(torch.zeros(3), clients)
    turns: Counter[int] = Counter(dict.fromkeys(range(clients), 0))
    for round, count in enumerate((min(count, clients) for count in counts), 1):
        asked, state = ask(part, state, round, clients, count)
        turns.update(asked)
        assert len(asked) == len(set(asked)) == count
        assert max(turns.values()) - min(turns.values()) <= 1
        state = part.observe(state, [report(i, torch.randn(3, generator=draw)) for i in asked])


@given(
    st.integers(1, 9),
    st.lists(st.tuples(st.integers(1, 9), st.floats(0.3, 1.0)), min_size=1, max_size=20),
    st.integers(0, 2**32 - 1),
)
def test_balanced_passes_against_the_book(clients: int, rounds: list[tuple[int, float]], seed: int) -> None:
    """Whoever is present, and however many are asked."""
    draw = np.random.default_rng(seed)
    part = BalancedClients()
    state = part.init(torch.zeros(4, dtype=torch.float64), clients)
    book = Book(stream(5, "participation", 1).permutation(clients).tolist(), 4)
    for round, (wanted, present) in enumerate(rounds, 1):
        count = min(wanted, clients)
        asked, state = ask(part, state, round, clients, count)
        expected = book.ask(count)
        assert asked == sorted(expected)
        came = [client for client in asked if draw.random() < present]
        updates = {client: draw.standard_normal(4) for client in came}
        state = part.observe(state, [report(i, torch.from_numpy(updates[i]), kept=i + 1) for i in came])
        book.tell(expected, updates)
        assert state["queue"].tolist() == book.queue
        everyone = [*book.queue, *state["front"].tolist(), *state["back"].tolist()]
        assert sorted(everyone) == list(range(clients))


def test_balanced_by_hand() -> None:
    part = BalancedClients()
    state: Tensors = {**part.init(torch.zeros(1), 4), "queue": torch.tensor([2, 0, 3, 1])}
    asked, state = ask(part, state, 1, 4, 2)
    assert asked == [0, 2]
    # 2 is first in the queue: 1 goes back (s = -1), then 0's 2 / 1 to the front (s = 1).
    state = part.observe(state, [report(0, torch.tensor([2.0])), report(2, torch.tensor([1.0]))])
    assert (state["front"].tolist(), state["back"].tolist(), state["queue"].tolist()) == ([0], [2], [3, 1])
    asked, state = ask(part, state, 2, 4, 2)
    assert asked == [1, 3]
    state = part.observe(state, [report(1, torch.tensor([3.0]))])  # 3 does not come; 3 > 0: back, s = -2
    assert (state["front"].tolist(), state["back"].tolist(), state["queue"].tolist()) == ([0], [2, 1], [3])
    asked, state = ask(part, state, 3, 4, 2)  # 3 is the last of this pass, 0 the first of the next
    assert asked == [0, 3]
    assert state["queue"].tolist() == [3]
    # 3's -1 against s = -2: back, s = -1. Then a new pass with the mean 5 / 4 and s = 0: 0 goes back.
    state = part.observe(state, [report(0, torch.tensor([2.0])), report(3, torch.tensor([-1.0]))])
    assert (state["front"].tolist(), state["back"].tolist(), state["queue"].tolist()) == ([], [0], [3, 1, 2])
    assert state["mean"].tolist() == [1.25]
    assert (int(state["met"]), state["signed"].tolist(), state["total"].tolist()) == (1, [-0.75], [2.0])


def test_a_round_that_nobody_answers_is_asked_again() -> None:
    part = BalancedClients()
    first, state = ask(part, part.init(torch.zeros(2), 6), 1, 6, 3)
    second, _ = ask(part, part.observe(state, []), 2, 6, 3)
    assert first == second


def test_balanced_passes_bring_opposites_together() -> None:
    """10 kinds of clients, 10 of each, 10 asked: after some passes a round has nearly all kinds."""
    part, d = BalancedClients(), 10
    state = part.init(torch.zeros(d), 100)
    kinds = []
    for round in range(1, 81):
        asked, state = ask(part, state, round, 100, 10)
        kinds.append(len({client % d for client in asked}))
        state = part.observe(state, [report(client, torch.eye(d)[client % d]) for client in asked])
    assert np.mean(kinds[:10]) < 7.5
    assert np.mean(kinds[40:]) > 8.5
