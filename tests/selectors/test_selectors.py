"""The other selectors, the share alpha, and the contract of every selector."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bherd.algorithms.herding import herding_order
from bherd.algorithms.scaling import in_range
from bherd.algorithms.share import kept_count
from bherd.errors import InputError
from bherd.loop.server import weighted
from bherd.method import Method
from bherd.parts.records import Report
from bherd.selectors.base import Selector
from bherd.selectors.everything import Everything
from bherd.selectors.grab import Grab
from bherd.selectors.herding import Herding
from bherd.selectors.random import RandomShare
from bherd.selectors.reversed_herding import ReversedHerding
from bherd.streams import stream
from tests.tiny import selectors

BAD_SHARES = [0.0, -0.0, -0.5, 1.0000001, 1.5, float("nan"), float("inf"), float("-inf")]
every_selector = pytest.mark.parametrize("selector", selectors(), ids=str)


@every_selector
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 3), (7, 1), (12, 6)])
def test_every_selector_keeps_at_least_one_and_none_twice(selector: Selector, shape: tuple[int, int]) -> None:
    trace = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    kept = selector.select(trace, stream(0, "select", 1, 2)).indices
    assert kept.dtype == np.int64
    assert 1 <= len(kept) <= shape[0]
    assert len(set(kept.tolist())) == len(kept)
    assert set(kept.tolist()) <= set(range(shape[0]))


@every_selector
def test_the_same_stream_gives_the_same_choice(selector: Selector) -> None:
    trace = torch.randn((30, 4), generator=torch.Generator().manual_seed(1))
    one, two = (selector.select(trace, stream(0, "select", 1, 2)).indices for _ in range(2))
    assert np.array_equal(one, two)


def test_everything_keeps_all_in_order() -> None:
    assert Everything().select(torch.zeros(5, 2), stream(0, "select")).indices.tolist() == [0, 1, 2, 3, 4]
    assert Everything().keeps_all


def test_random_share_draws_from_the_given_stream_only() -> None:
    trace = torch.zeros(40, 1)
    draws = [RandomShare(0.25).select(trace, stream(0, "select", r)).indices.tolist() for r in range(5)]
    assert all(len(draw) == 10 for draw in draws)
    assert len({tuple(draw) for draw in draws}) == 5
    other = RandomShare(0.25).select(torch.ones(40, 9), stream(0, "select", 3))
    assert other.indices.tolist() == draws[3]  # the gradients have no say


def test_random_share_is_uniform() -> None:
    """2,000 draws of 3 out of 6: each step 1,000 times, give or take 5 standard deviations (112)."""
    draw = stream(0, "select")
    counts = np.zeros(6)
    for _ in range(2000):
        counts[RandomShare(0.5).select(torch.zeros(6, 1), draw).indices] += 1
    assert counts.sum() == 6000
    assert np.abs(counts - 1000).max() < 112


def test_random_shares_are_nested_too() -> None:
    trace = torch.zeros(20, 1)
    whole = RandomShare(1.0).select(trace, stream(4, "select")).indices.tolist()
    assert RandomShare(0.3).select(trace, stream(4, "select")).indices.tolist() == whole[:6]


def test_reversed_herding_is_the_tail_of_the_order() -> None:
    trace = torch.randn((10, 3), generator=torch.Generator().manual_seed(2))
    order = herding_order(trace, 10).tolist()
    assert ReversedHerding(0.3).select(trace, stream(0, "select")).indices.tolist() == order[:-4:-1]


@pytest.mark.parametrize("alpha", BAD_SHARES)
@pytest.mark.parametrize("make", [Herding, RandomShare, ReversedHerding])
def test_a_share_outside_its_range_is_refused(make: object, alpha: float) -> None:
    assert callable(make)
    with pytest.raises(InputError, match=r"alpha = .*\(0, 1\]"):
        make(alpha)


@given(hundredths=st.integers(1, 100), steps=st.integers(1, 1000))
def test_the_kept_count_is_that_of_whole_number_arithmetic(hundredths: int, steps: int) -> None:
    """floor(h/100 tau + 1/2) = (2 h tau + 100) // 200, with no float in sight."""
    assert kept_count(hundredths / 100, steps) == max(1, (2 * hundredths * steps + 100) // 200)


@pytest.mark.parametrize(
    ("selector", "factor"),
    [(Everything(), 1.0), (Herding(0.3), 2 / 0.3), (RandomShare(0.3), 2 / 0.3), (Grab(), 1 / 0.625)],
    ids=str,
)
def test_what_the_server_makes_up_for(selector: Selector, factor: float) -> None:
    """E / alpha. Weights 1 and 3, kept 1 of 4 and 3 of 4: the measured share is 1/4 1/4 + 3/4 3/4 = 5/8."""
    reports = [Report(0, 1, 4, 1, torch.zeros(1)), Report(1, 3, 4, 3, torch.zeros(1))]
    _, found = weighted(Method(selector), reports, epochs=2.0)
    assert found == pytest.approx(factor, rel=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("value", [1e38, 1e30, 1e-30, 1e-38])
def test_rescaling_is_by_a_power_of_two(dtype: torch.dtype, value: float) -> None:
    trace = torch.tensor([[value, value / 3], [0.0, -value]], dtype=dtype)
    scaled = in_range(trace)
    ratio = scaled[trace != 0].double() / trace[trace != 0].double()
    assert len(set(ratio.tolist())) == 1
    assert np.frexp(ratio[0].item())[0] == 0.5
    assert torch.isfinite(scaled.square().sum())
    assert float(scaled.square().max()) > 0
