"""The selectors as parts: which steps they keep, and with which weights."""

import ast
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import nnls

import bherd
import bherd.selectors.base
from bherd import methods
from bherd.algorithms.herding import herding_order
from bherd.algorithms.matching import matching_pursuit
from bherd.algorithms.share import kept_count
from bherd.errors import InputError
from bherd.parts.schedule import Schedule
from bherd.parts.spec import build
from bherd.parts.table import TABLE
from bherd.selectors.base import Selector, ShareSelector
from bherd.selectors.everything import Everything
from bherd.selectors.first import FirstSteps
from bherd.selectors.grab import Grab
from bherd.selectors.herding import Herding
from bherd.selectors.matching import MatchingPursuit
from bherd.selectors.nearest import NearestToMean
from bherd.selectors.norms import LargestNorms, SmallestNorms
from bherd.selectors.random import RandomShare
from bherd.selectors.reversed_herding import ReversedHerding
from bherd.streams import stream

SHARES: list[Callable[[float], ShareSelector]] = [
    Herding,
    RandomShare,
    ReversedHerding,
    LargestNorms,
    SmallestNorms,
    NearestToMean,
    FirstSteps,
]
PARTS: list[Selector] = [Everything(), Grab(), MatchingPursuit(0.4), *(part(0.4) for part in SHARES)]
every_part = pytest.mark.parametrize("part", PARTS, ids=str)

whole_traces = st.tuples(st.integers(1, 9), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=st.integers(-3, 3).map(float))
)
shares = st.sampled_from([0.01, 0.2, 0.29, 0.5, 0.75, 1.0])


def rows(*numbers: Any, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(numbers, dtype=dtype)


def indices(part: Selector, trace: torch.Tensor) -> list[int]:
    return [int(index) for index in part.select(trace, stream(0, "select", 1, 2)).indices]


def test_every_selector_of_the_table_is_tested_here() -> None:
    assert {str(part).split(",")[0] for part in PARTS} == set(TABLE["selector"].parts)


@every_part
def test_the_text_of_a_selector_gives_it_back(part: Selector) -> None:
    assert build("selector", str(part)) == part
    assert build("selector", str(part).split(",")[0]) == type(part)()


@every_part
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 3), (7, 1), (12, 6)])
def test_every_selector_keeps_at_least_one_and_none_twice(part: Selector, shape: tuple[int, int]) -> None:
    for trace in (torch.randn(shape, generator=torch.Generator().manual_seed(1)), torch.zeros(shape)):
        before = trace.clone()
        kept = part.select(trace, stream(0, "select", 1, 2))
        assert torch.equal(trace, before)
        assert kept.indices.dtype == np.int64
        assert kept.indices.flags.c_contiguous
        assert 1 <= len(set(kept.indices.tolist())) == len(kept.indices)
        assert set(kept.indices.tolist()) <= set(range(shape[0]))
        if part.count(shape[0]) is not None:
            assert len(kept.indices) == part.count(shape[0])
        if kept.weights is not None:
            assert kept.weights.shape == kept.indices.shape
            assert (kept.weights > 0).all()


def test_what_the_server_is_told_of_each() -> None:
    assert Everything().keeps_all
    assert not Everything().scales_with_epochs
    assert (Everything().nominal_share(), Everything().count(7)) == (1.0, 7)
    assert not Grab().scales_with_epochs
    assert (Grab().nominal_share(), Grab().count(7)) == (None, None)
    assert (MatchingPursuit(0.3).nominal_share(), MatchingPursuit(0.3).count(7)) == (None, None)
    for share in SHARES:
        assert share(0.3).scales_with_epochs
        assert not share(0.3).keeps_all
        assert (share(0.3).nominal_share(), share(0.3).count(5)) == (0.3, 2)


@pytest.mark.parametrize("alpha", [0.0, -0.5, 1.5, float("nan"), float("inf")])
@pytest.mark.parametrize("part", [*SHARES, MatchingPursuit])
def test_a_share_outside_its_range_is_refused(part: Callable[[float], Selector], alpha: float) -> None:
    with pytest.raises(InputError, match=r"alpha = .*\(0, 1\]\. Try 0\.5"):
        part(alpha)


def test_a_share_may_be_a_schedule() -> None:
    part = Herding(Schedule("linear:0.25:1.0:4"))
    assert build("selector", str(part)) == part
    assert part.count(8) == 2


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_the_selectors_of_the_named_methods(alpha: float) -> None:
    """And what they keep, by the functions that they stand for."""
    trace = torch.randn((13, 6), generator=torch.Generator().manual_seed(3))
    order, count = herding_order(trace, 13).tolist(), kept_count(alpha, 13)
    drawn = stream(0, "select", 1, 2).permutation(13)[:count].tolist()
    for name, part, kept in (
        ("bherd-scaffold", Herding(alpha), order[:count]),
        ("random-fednova", RandomShare(alpha), drawn),
        ("reversed-fedavg", ReversedHerding(alpha), order[::-1][:count]),
    ):
        assert methods.named(name, alpha=alpha).selector == part
        assert indices(part, trace) == kept
    assert methods.named("grab-fedavg").selector == Grab()
    assert indices(Grab(), trace) == bherd.grab(trace).tolist()
    assert methods.named("fedavg").selector == Everything()
    assert indices(Everything(), trace) == list(range(13))


def test_norms_by_hand() -> None:
    trace = rows([3.0, 4.0], [0.0, 1.0], [5.0, 0.0], [0.0, -2.0])
    assert indices(LargestNorms(0.75), trace) == [0, 2, 3]  # 5, 5, 2: the tie goes to the lowest index
    assert indices(SmallestNorms(0.75), trace) == [1, 3, 0]


def test_nearest_by_hand() -> None:
    assert indices(NearestToMean(0.75), rows([0.0], [10.0], [4.0], [6.0])) == [2, 3, 0]  # mean 5
    assert indices(NearestToMean(0.6), rows([1.0], [0.0], [0.0])) == [1, 2]  # mean 1/3


def test_the_first_steps_are_the_first() -> None:
    assert indices(FirstSteps(0.5), torch.zeros(5, 1)) == [0, 1, 2]


@given(whole_traces, shares)
def test_norms_and_distances_against_exact_numbers(values: npt.NDArray[Any], alpha: float) -> None:
    whole = [[int(number) for number in row] for row in values]
    steps, count = len(whole), kept_count(alpha, len(whole))
    norm = [sum(x * x for x in row) for row in whole]
    total = [sum(column) for column in zip(*whole, strict=True)]
    away = [sum((steps * x - s) ** 2 for x, s in zip(row, total, strict=True)) for row in whole]
    everyone = range(steps)
    trace = torch.from_numpy(values)
    assert indices(LargestNorms(alpha), trace) == sorted(everyone, key=lambda i: -norm[i])[:count]
    assert indices(SmallestNorms(alpha), trace) == sorted(everyone, key=lambda i: norm[i])[:count]
    assert indices(NearestToMean(alpha), trace) == sorted(everyone, key=lambda i: away[i])[:count]


@every_part
@pytest.mark.parametrize("factor", [2.0**-900, 2.0**900])
def test_the_scale_of_the_gradients_has_no_say(part: Selector, factor: float) -> None:
    trace = torch.randn((9, 5), generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    assert indices(part, trace * factor) == indices(part, trace)


def test_matching_pursuit_by_hand() -> None:
    """The sum is (6, 2): the largest product picks (3, 0), with weight 6 / 3, and then (0, 2)."""
    trace = rows([1.0, 0.0], [2.0, 0.0], [0.0, 2.0], [3.0, 0.0])
    one = MatchingPursuit(0.25).select(trace, stream(0, "select"))
    assert one.indices.tolist() == [3]
    assert one.weights is not None
    assert one.weights == pytest.approx([2.0])
    two = MatchingPursuit(0.5).select(trace, stream(0, "select"))
    assert two.indices.tolist() == [3, 2]
    assert two.weights is not None
    assert two.weights == pytest.approx([2.0, 1.0])
    more = MatchingPursuit(1.0).select(trace, stream(0, "select"))  # two are enough
    assert more.indices.tolist() == [3, 2]


def test_matching_pursuit_of_equal_gradients_takes_the_first_for_all() -> None:
    kept = MatchingPursuit(0.5).select(torch.ones(6, 3), stream(0, "select"))
    assert kept.indices.tolist() == [0]
    assert kept.weights is not None
    assert kept.weights == pytest.approx([6.0])


@pytest.mark.parametrize("trace", [torch.zeros(3, 2), rows([1.0, 1.0], [-1.0, -1.0])])
def test_matching_pursuit_of_a_sum_of_zero_counts_every_step_once(trace: torch.Tensor) -> None:
    kept = MatchingPursuit(0.5).select(trace, stream(0, "select"))
    assert kept.indices.tolist() == list(range(len(trace)))
    assert kept.weights is not None
    assert kept.weights.tolist() == [1.0] * len(trace)


def by_the_book(trace: npt.NDArray[np.float64], count: int) -> tuple[list[int], list[float]]:
    """Matching pursuit on the gradients themselves, with scipy's least squares without negative weights."""
    target = trace.sum(0)
    chosen: list[int] = []
    weights = np.zeros(0)
    for _ in range(count):
        residual = target - weights @ trace[chosen]
        products = {i: float(trace[i] @ residual) for i in range(len(trace)) if i not in chosen}
        best = max(products, key=lambda i: products[i])
        if products[best] <= 1e-9:
            break
        chosen.append(best)
        weights = nnls(trace[chosen].T, target)[0]
    kept = [(i, float(w)) for i, w in zip(chosen, weights, strict=True) if w > 0]
    return [i for i, _ in kept], [w for _, w in kept]


@given(st.integers(1, 12), st.integers(1, 30), st.integers(0, 2**32 - 1), shares, st.floats(0, 2))
def test_matching_pursuit_against_the_book(steps: int, d: int, seed: int, alpha: float, shift: float) -> None:
    trace = np.random.default_rng(seed).standard_normal((steps, d)) + shift
    chosen, weights = matching_pursuit(torch.from_numpy(trace), kept_count(alpha, steps))
    expected, expected_weights = by_the_book(trace, kept_count(alpha, steps))
    assert chosen.tolist() == expected
    assert weights == pytest.approx(expected_weights, rel=1e-5, abs=1e-6)
    assert weights == pytest.approx(nnls(trace[chosen].T, trace.sum(0))[0], rel=1e-5, abs=1e-6)
    error = np.linalg.norm(weights @ trace[chosen] - trace.sum(0))
    assert error <= np.linalg.norm(trace.sum(0)) * (1 + 1e-9)
    if alpha == 1.0:
        assert error <= 1e-6 * np.linalg.norm(trace, axis=1).sum()


@given(whole_traces)
def test_herding_takes_the_nearest_sum_at_every_step(values: npt.NDArray[Any]) -> None:
    whole = values.astype(np.int64)
    centred = len(whole) * whole - whole.sum(0)
    taken: list[int] = []
    for _ in range(len(whole)):
        rest = [i for i in range(len(whole)) if i not in taken]
        taken.append(min(rest, key=lambda i: int(np.square(centred[[*taken, i]].sum(0)).sum())))
    assert indices(Herding(1.0), torch.from_numpy(values)) == taken
    assert indices(ReversedHerding(1.0), torch.from_numpy(values)) == taken[::-1]


def test_a_herd_of_one_is_the_best_of_all_choices_of_one() -> None:
    trace = torch.randn((6, 3), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    mean = trace.mean(0)
    best = min(permutations(range(6), 1), key=lambda one: float((trace[list(one)].mean(0) - mean).norm()))
    assert indices(Herding(0.1), trace) == indices(NearestToMean(0.1), trace) == list(best)


def test_no_selector_imports_torch_or_numpy_at_its_top() -> None:
    folder = Path(bherd.selectors.base.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                assert not {name.partition(".")[0] for name in names} & {"torch", "numpy", "scipy"}, path
