"""Herding by blocks and by compiled loops: the same orders as by plain arrays."""

from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from bherd import compiled
from bherd.algorithms import gram, greedy, small
from bherd.algorithms.herding import herding_order

Trace = npt.NDArray[Any]

needs_compiler = pytest.mark.skipif(not compiled.available(), reason="numba is not installed")
BOTH = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])


def traces(dtype: torch.dtype) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(11)
    shapes = [(1, 3), (2, 1), (3, 40), (7, 7), (21, 785), (64, 2), (50, 9000)]
    plain = [torch.randn(shape, generator=draw, dtype=dtype) for shape in shapes]
    whole = [torch.randint(-2, 3, (30, 2), generator=draw).to(dtype) for _ in range(5)]
    return [
        *plain,
        *whole,
        plain[3] + 1000,
        plain[4] * 1e-25,
        plain[4] * 1e25,
        torch.zeros(9, 4, dtype=dtype),
    ]


def exact_gram(trace: torch.Tensor) -> torch.Tensor:
    wide = trace.to(torch.float64)
    wide = wide - wide.mean(0)
    return wide @ wide.T


@needs_compiler
@BOTH
def test_compiled_and_plain_loops_give_one_order(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    for trace in traces(dtype):
        orders = []
        for loaded in (False, True):
            monkeypatch.setattr(compiled, "in_use", lambda loaded=loaded: loaded)
            orders.append(herding_order(trace, len(trace)).tolist())
        assert orders[0] == orders[1]
        assert sorted(orders[0]) == list(range(len(trace)))


@needs_compiler
@given(
    values=arrays(
        np.float32, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.integers(-3, 3).map(float)
    ),
    scale=st.sampled_from([1.0, 1e-30, 1e30]),
    shift=st.sampled_from([0.0, 1000.0]),
)
def test_ties_end_alike_with_and_without_the_compiler(values: Trace, scale: float, shift: float) -> None:
    trace = torch.from_numpy((values + np.float32(shift)) * np.float32(scale))
    orders = []
    for loaded in (False, True):
        with patch.object(compiled, "in_use", lambda loaded=loaded: loaded):
            orders.append(herding_order(trace, len(trace)).tolist())
    assert orders[0] == orders[1]


@BOTH
@pytest.mark.parametrize("way", ["blocks", "plain", pytest.param("compiled", marks=needs_compiler)])
def test_the_gram_matrix_is_that_of_the_centred_rows(dtype: torch.dtype, way: str) -> None:
    precision = 1e-5 if dtype == torch.float32 else 1e-13
    for trace in traces(dtype)[:-3]:
        if way == "blocks":
            _, found = gram.centred_gram(trace)
        elif trace.numel() <= 1000 or way == "compiled":
            rows = trace.numpy()
            found = np.empty((len(rows), len(rows)), rows.dtype)
            multiply = small.small_gram
            if way == "compiled":
                multiply = compiled.fast(multiply, reordered_sums=True)
            assert multiply(rows, found) == found.diagonal().max()
            assert np.array_equal(found, found.T)
        else:
            continue
        expected = exact_gram(trace).numpy()
        assert np.abs(found - expected).max() <= precision * max(1.0, np.abs(expected).max())


@needs_compiler
def test_the_one_call_stops_where_two_compete() -> None:
    rows = np.array([[3.0], [-3.0], [7.0], [1.0], [-8.0]])  # sums to zero
    for run in (small.begin, small.load()):
        gram_, scores, order = np.empty((5, 5)), np.empty(5), np.zeros(5, dtype=np.int64)
        rank, largest = run(rows, 1e-12, gram_, scores, order)
        assert (rank, largest, order.tolist()) == (5, 64.0, [3, 1, 0, 4, 2])
        twice = np.concatenate([rows, rows[3:4]]) - 1 / 6
        gram_, scores, order = np.empty((6, 6)), np.empty(6), np.zeros(6, dtype=np.int64)
        rank, _ = run(twice, 1e-12, gram_, scores, order)
        assert rank == 0, "steps 3 and 5 are the same gradient"


@needs_compiler
def test_the_compiled_loop_has_the_bits_of_the_arrays() -> None:
    draw = np.random.default_rng(4)
    rows = draw.normal(size=(40, 10))
    products = rows @ rows.T
    results = []
    compiled_loop = compiled.fast(small.take_until_tie)
    for loop in (small.take_until_tie, greedy._by_arrays, compiled_loop):
        scores, order = products.diagonal().copy(), np.zeros(30, dtype=np.int64)
        assert loop(products, scores, 1e-9, order, 0) == 30
        results.append((order.tolist(), scores.tolist()))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("factor", [3e38, -3e38, 1e-23, -1e-38])
@pytest.mark.parametrize("loaded", [False, pytest.param(True, marks=needs_compiler)])
def test_squares_beyond_the_range_of_floats_are_rescaled(
    factor: float, loaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "in_use", lambda: loaded)
    base = torch.tensor([[1.0], [0.5], [0.25], [0.9], [0.8]])
    expected = herding_order(base, 5).tolist()
    assert herding_order(base * factor, 5).tolist() == expected


@pytest.mark.parametrize("threads", [2, 3])
def test_blocks_give_the_same_bits_by_any_number_of_threads(threads: int) -> None:
    trace = torch.randn(300, 40_000, generator=torch.Generator().manual_seed(6))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _, one = gram.centred_gram(trace)
        torch.set_num_threads(threads)
        _, several = gram.centred_gram(trace)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(one, several)
