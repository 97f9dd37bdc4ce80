"""Random streams: the same key gives the same draws, any other key gives others."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bherd.streams import stream, torch_seed

KEY = (3, "select", 5, 7)
OTHERS = [(4, "select", 5, 7), (3, "shuffle", 5, 7), (3, "select", 6, 7), (3, "select", 5, 8)]
SWAPPED = [(5, "select", 3, 7), (3, "select", 7, 5), (7, "select", 5, 3)]


def draws(key: tuple[int, str, int, int]) -> list[float]:
    return [float(x) for x in stream(*key).random(4)]


def test_the_same_key_gives_the_same_draws() -> None:
    assert draws(KEY) == draws(KEY)
    assert torch_seed(*KEY) == torch_seed(*KEY)


@pytest.mark.parametrize("other", OTHERS + SWAPPED)
def test_every_part_of_the_key_counts_and_so_does_its_place(other: tuple[int, str, int, int]) -> None:
    assert draws(other) != draws(KEY)
    assert torch_seed(*other) != torch_seed(*KEY)


def test_streams_share_no_state() -> None:
    one, two = stream(*KEY), stream(*KEY)
    first = one.random(10)
    assert np.array_equal(first, two.random(10))
    assert not np.array_equal(one.random(10), first)


def test_many_streams_are_all_different() -> None:
    keys = itertools.product((0, 1), ("order", "select", "shuffle", "participation"), range(12), range(12))
    firsts = {tuple(draws(key)) for key in keys}
    assert len(firsts) == 2 * 4 * 12 * 12


def test_round_and_client_default_to_zero() -> None:
    assert draws((3, "order", 0, 0)) == [float(x) for x in stream(3, "order").random(4)]


@given(seed=st.integers(0, 2**70), purpose=st.text(max_size=5), round=st.integers(0, 2**40))
def test_torch_takes_every_seed(seed: int, purpose: str, round: int) -> None:
    assert 0 <= torch_seed(seed, purpose, round) < 2**63


def test_draws_of_neighbouring_clients_are_not_correlated() -> None:
    """10,000 uniform draws each: the correlation stays within five standard errors, 0.05."""
    rows = np.array([stream(0, "select", 1, client).random(10_000) for client in range(5)])
    off_diagonal = np.corrcoef(rows)[np.triu_indices(5, 1)]
    assert np.abs(off_diagonal).max() < 0.05
