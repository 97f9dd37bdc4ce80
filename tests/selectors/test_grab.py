"""GraB against its pseudo-code: exact brute force, ties, any scale, any type."""

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bherd
from bherd.algorithms.grab import balanced
from bherd.errors import InputError
from bherd.selectors.grab import Grab
from bherd.streams import stream
from tests.oracle import exact_grab, fractions_of, naive_grab

Trace = npt.NDArray[np.float64]
DTYPES = [torch.float32, torch.float64]
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)
WHOLE = hnp.arrays(np.float64, SHAPES, elements=st.integers(-3, 3).map(float))


def assert_exact(trace: torch.Tensor) -> None:
    assert balanced(trace).tolist() == exact_grab(fractions_of(trace.numpy()))


@pytest.mark.parametrize("dtype", DTYPES)
@given(values=WHOLE)
def test_whole_numbers_get_the_signs_of_exact_arithmetic(dtype: torch.dtype, values: Trace) -> None:
    assert_exact(torch.from_numpy(values).to(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@given(value=st.integers(-3, 3), steps=st.integers(1, 40), width=st.integers(1, 3))
def test_equal_gradients(dtype: torch.dtype, value: int, steps: int, width: int) -> None:
    """The last deviation is exactly 0 here: a tie, which rounding must not turn into a sign."""
    assert_exact(torch.full((steps, width), float(value), dtype=dtype))


@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [
        (torch.float32, 100),
        (torch.float32, -100),
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
def test_no_scale_changes_the_signs_of_clear_cases(dtype: torch.dtype, scale: float) -> None:
    for seed in range(10):
        values = np.random.default_rng(seed).standard_normal((15, 4)) * scale
        assert_exact(torch.from_numpy(values).to(dtype))


@pytest.mark.parametrize(("steps", "width"), [(60, 40), (120, 785), (200, 1)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_long_traces_agree_with_the_naive_loop(steps: int, width: int, dtype: torch.dtype) -> None:
    values = np.random.default_rng(steps).standard_normal((steps, width)).astype(np.float32)
    expected = naive_grab(values.astype(np.float64))
    assert balanced(torch.from_numpy(values).to(dtype)).tolist() == expected
    assert 0 < len(expected) < steps


def test_by_hand() -> None:
    """tau = 2, gradients 2 and 1: mu = 1, z = 1, s = -1 (a tie: minus); mu = 3/2, z = -1/2: minus.

    Then gradients 1 and 2: z = 1/2, s = -1/2; mu = 3/2, z = 1/2: |s + z| = 0 < 1: plus.
    """
    assert bherd.grab([[2.0], [1.0]]).tolist() == [0, 1]  # no plus: all of them
    assert bherd.grab([[1.0], [2.0]]).tolist() == [1]


def test_one_step_has_no_plus_and_is_kept() -> None:
    assert bherd.grab([[5.0, -3.0]]).tolist() == [0]


def test_zero_gradients_have_no_plus_and_are_kept() -> None:
    assert bherd.grab(np.zeros((4, 3))).tolist() == [0, 1, 2, 3]


def test_numpy_torch_lists_and_the_selector_agree() -> None:
    values = np.random.default_rng(3).standard_normal((20, 5))
    expected = bherd.grab(values)
    assert expected.dtype == np.int64
    assert np.array_equal(bherd.grab(torch.from_numpy(values)), expected)
    assert np.array_equal(bherd.grab(values.tolist()), expected)
    assert np.array_equal(Grab().select(torch.from_numpy(values), stream(0, "select")).indices, expected)


def test_the_input_is_left_as_it_was() -> None:
    values = np.random.default_rng(5).standard_normal((9, 4)) * 1e200
    trace = torch.from_numpy(values.copy())
    bherd.grab(trace)
    assert np.array_equal(trace.numpy(), values)


@pytest.mark.parametrize("shape", [(0, 3), (4,), (2, 3, 4)])
def test_a_wrong_shape_is_an_error_that_shows_it(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"shape .*\(steps, d\)"):
        bherd.grab(np.zeros(shape))


def test_gradients_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InputError, match="NaN or infinity"):
        bherd.grab([[1.0], [np.nan]])
