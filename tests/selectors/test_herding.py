"""Herding against the paper's pseudo-code: exact brute force, ties, duplicates, any scale, any type."""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bherd
from bherd.algorithms.herding import herding_order
from bherd.errors import InputError
from bherd.selectors.herding import Herding
from bherd.streams import stream
from tests.oracle import exact_herding, fractions_of, naive_herding

Trace = npt.NDArray[np.float64]
DTYPES = [torch.float32, torch.float64]
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)
WHOLE = hnp.arrays(np.float64, SHAPES, elements=st.integers(-3, 3).map(float))
NOT_LARGE = st.floats(-1e3, 1e3, width=32)


@st.composite
def with_duplicates(draw: st.DrawFn) -> Trace:
    """A few distinct rows of small whole numbers, each of them several times."""
    rows = draw(WHOLE)
    picks = draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=10))
    return np.asarray(rows[picks])


def assert_exact(trace: torch.Tensor) -> None:
    steps = len(trace)
    expected = exact_herding(fractions_of(trace.numpy()), steps)
    assert herding_order(trace, steps).tolist() == expected


@pytest.mark.parametrize("dtype", DTYPES)
@given(values=WHOLE)
def test_whole_numbers_are_ordered_as_exact_arithmetic_orders_them(dtype: torch.dtype, values: Trace) -> None:
    assert_exact(torch.from_numpy(values).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@given(values=with_duplicates())
def test_duplicates_are_taken_lowest_index_first(dtype: torch.dtype, values: Trace) -> None:
    assert_exact(torch.from_numpy(values).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@given(values=WHOLE, shift=st.sampled_from([-1e6, 1e5, 4096.0]))
def test_a_large_common_part_does_not_blur_the_order(dtype: torch.dtype, values: Trace, shift: float) -> None:
    assert_exact(torch.from_numpy(values + shift).to(dtype))


@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [
        (torch.float32, 100),  # about 1e30
        (torch.float32, -100),  # about 1e-30
        (torch.float32, 125),
        (torch.float64, 100),
        (torch.float64, -100),
        (torch.float64, 1000),
        (torch.float64, -1000),
    ],
)
@given(values=WHOLE)
def test_powers_of_two_change_nothing(dtype: torch.dtype, exponent: int, values: Trace) -> None:
    assert_exact(torch.from_numpy(values * 2.0**exponent).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scale", [1e30, 1e-30, 1.0])
def test_no_scale_changes_the_order_of_clear_cases(dtype: torch.dtype, scale: float) -> None:
    for seed in range(10):
        values = np.random.default_rng(seed).standard_normal((12, 3)) * scale
        assert_exact(torch.from_numpy(values).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@given(values=hnp.arrays(np.float32, SHAPES, elements=NOT_LARGE))
def test_every_choice_is_a_smallest_norm(dtype: torch.dtype, values: npt.NDArray[np.float32]) -> None:
    """For any floats: no other step would have kept the sum shorter, up to 1e-12 of the largest."""
    trace = torch.from_numpy(values).to(dtype)
    rows = fractions_of(values)
    steps, width = values.shape
    mean = [sum((row[j] for row in rows), Fraction(0)) / steps for j in range(width)]
    centred = [[row[j] - mean[j] for j in range(width)] for row in rows]
    slack = max(sum(z * z for z in row) for row in centred) / 10**12
    total, left = [Fraction(0)] * width, set(range(steps))
    for index in herding_order(trace, steps).tolist():
        norms = {i: sum((total[j] + centred[i][j]) ** 2 for j in range(width)) for i in left}
        assert norms[index] <= min(norms.values()) + slack
        left.remove(index)
        total = [total[j] + centred[index][j] for j in range(width)]
    assert not left


@pytest.mark.parametrize(("steps", "width"), [(60, 40), (120, 785), (200, 3)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_long_traces_agree_with_the_naive_loop(steps: int, width: int, dtype: torch.dtype) -> None:
    values = np.random.default_rng(steps).standard_normal((steps, width)).astype(np.float32)
    values += 30 * np.random.default_rng(1).standard_normal(width).astype(np.float32)
    expected = naive_herding(values.astype(np.float64), steps // 2)
    assert herding_order(torch.from_numpy(values).to(dtype), steps // 2).tolist() == expected


@given(values=WHOLE)
def test_orders_of_different_lengths_are_nested(values: Trace) -> None:
    trace = torch.from_numpy(values)
    whole = herding_order(trace, len(trace)).tolist()
    assert sorted(whole) == list(range(len(trace)))
    for count in range(1, len(trace)):
        assert herding_order(trace, count).tolist() == whole[:count]


def test_by_hand() -> None:
    """Mean 5, deviations -5, 5, -1, 1: first -1 (index 2, the tie with 1 goes to it), then 1."""
    assert bherd.herd([[0.0], [10.0], [4.0], [6.0]], alpha=0.5).tolist() == [2, 3]
    # Deviations 0, 3, -3, 0 in one dimension: both zeros, then the lower index of the tie.
    assert bherd.herd([[1.0], [4.0], [-2.0], [1.0]], alpha=1.0).tolist() == [0, 3, 1, 2]


def test_one_step_is_kept_whatever_the_share() -> None:
    for alpha in (0.01, 0.5, 1.0):
        assert bherd.herd([[3.0, 4.0]], alpha).tolist() == [0]


def test_equal_gradients_are_taken_in_their_order() -> None:
    assert bherd.herd(np.ones((6, 4)), 1.0).tolist() == list(range(6))
    assert bherd.herd(np.full((7, 3), 0.1, dtype=np.float32), 1.0).tolist() == list(range(7))


@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.5, 0.9, 1.0])
def test_numpy_torch_lists_and_the_selector_agree(alpha: float) -> None:
    values = np.random.default_rng(3).standard_normal((20, 5))
    expected = bherd.herd(values, alpha)
    assert expected.dtype == np.int64
    assert np.array_equal(bherd.herd(torch.from_numpy(values), alpha), expected)
    assert np.array_equal(bherd.herd(values.tolist(), alpha), expected)
    assert np.array_equal(bherd.herd(torch.from_numpy(values).requires_grad_(), alpha), expected)
    chosen = Herding(alpha).select(torch.from_numpy(values), stream(0, "select"))
    assert np.array_equal(chosen.indices, expected)
    assert chosen.weights is None


def test_the_input_is_left_as_it_was() -> None:
    values = np.random.default_rng(5).standard_normal((9, 4)) * 1e200
    trace = torch.from_numpy(values.copy())
    bherd.herd(trace, 0.5)
    assert np.array_equal(trace.numpy(), values)


def test_whole_number_and_half_precision_input_is_understood() -> None:
    whole = np.array([[0], [10], [4], [6]])
    assert bherd.herd(whole, 0.5).tolist() == [2, 3]
    assert bherd.herd(torch.tensor(whole, dtype=torch.bfloat16), 0.5).tolist() == [2, 3]
    assert bherd.herd(torch.tensor(whole, dtype=torch.float16), 0.5).tolist() == [2, 3]


@pytest.mark.parametrize(
    "shape", [(0, 3), (4,), (2, 3, 4), ()], ids=["no-steps", "vector", "three-axes", "scalar"]
)
def test_a_wrong_shape_is_an_error_that_shows_it(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"shape .*\(steps, d\)"):
        bherd.herd(np.zeros(shape))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_gradients_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(InputError, match="NaN or infinity"):
        bherd.herd([[1.0, 2.0], [bad, 0.0]])
