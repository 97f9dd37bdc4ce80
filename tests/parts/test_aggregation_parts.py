"""Aggregations: against Flower's strategies, numpy and scipy, and by hand."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from flwr.serverapp import strategy as flower
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor

from bherd.aggregations.average import Average
from bherd.aggregations.base import Aggregation
from bherd.aggregations.geometric_median import GeometricMedian
from bherd.aggregations.krum import Krum
from bherd.aggregations.median import Median
from bherd.aggregations.nova import Nova
from bherd.aggregations.trimmed import TrimmedMean
from bherd.errors import InputError
from bherd.parts.part import Part
from bherd.parts.records import Update
from tests.parts.flower_strategies import flower_rounds

ROBUST = [Median(), TrimmedMean(0.25), Krum(malicious=1), Krum(malicious=1, keep=3), GeometricMedian()]


def updates_of(
    rows: Tensor, shares: Sequence[float] | None = None, scales: Sequence[float] | None = None
) -> list[Update]:
    shares = shares or [1 / len(rows)] * len(rows)
    scales = scales or [1.0] * len(rows)
    return [Update(row, p, s, p * s) for row, p, s in zip(rows, shares, scales, strict=True)]


def column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None]


def random_rows(clients: int, d: int = 6, seed: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((clients, d), generator=generator, dtype=torch.float64)


def test_the_average_is_the_sum_of_weight_times_vector_bit_for_bit() -> None:
    rows = random_rows(5).float()
    updates = updates_of(rows, [0.1, 0.3, 0.2, 0.3, 0.1], [1.0, 2.0, 1.5, 1.0, 3.0])
    expected = 0 + updates[0].weight * rows[0]
    for update in updates[1:]:
        expected = expected + update.weight * update.vector
    assert torch.equal(Average().combine(updates), expected)
    assert torch.equal(Nova().combine(updates), expected)
    negative_zero = Average().combine(updates_of(torch.tensor([[-0.0]])))
    assert not negative_zero.signbit().item()  # as 0 + -0.0 is


def test_only_nova_normalizes() -> None:
    assert [part.normalizes for part in [Average(), Nova(), *ROBUST]] == [False, True] + 5 * [False]


@pytest.mark.parametrize("clients", [5, 8, 10])
@pytest.mark.parametrize(
    ("part", "strategy"),
    [
        (Median(), flower.FedMedian(fraction_train=0.0)),
        (TrimmedMean(0.1), flower.FedTrimmedAvg(fraction_train=0.0, beta=0.1)),
        (TrimmedMean(0.2), flower.FedTrimmedAvg(fraction_train=0.0, beta=0.2)),
        (TrimmedMean(0.49), flower.FedTrimmedAvg(fraction_train=0.0, beta=0.49)),
        (Krum(), flower.Krum(fraction_train=0.0)),
        (Krum(1), flower.Krum(fraction_train=0.0, num_malicious_nodes=1)),
        (
            Krum(1, 3),
            flower.MultiKrum(fraction_train=0.0, num_malicious_nodes=1, num_nodes_to_select=3),
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, Part) else type(value).__name__,
)
def test_it_merges_as_flower_does(part: Aggregation, strategy: flower.FedAvg, clients: int) -> None:
    samples = list(range(10, 10 + clients))
    shares = [count / sum(samples) for count in samples]
    scales = [1 + 0.1 * client for client in range(clients)]
    params = torch.linspace(-1, 1, 6, dtype=torch.float64)
    for seed in range(5):
        rows = random_rows(clients, seed=seed)
        rows[0] += 4.0  # one that is far off
        moves = torch.tensor(scales, dtype=torch.float64)[:, None] * rows
        (expected,) = flower_rounds(strategy, params, [moves], samples)
        found = params - part.combine(updates_of(rows, shares, scales))
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@given(st.integers(1, 9), st.integers(0, 50))
def test_the_median_is_numpys(clients: int, seed: int) -> None:
    rows = random_rows(clients, seed=seed)
    found = Median().combine(updates_of(rows))
    assert found.tolist() == np.median(rows.numpy(), axis=0).tolist()


def test_the_median_and_the_trimmed_mean_by_hand() -> None:
    rows = column(1, 100, 2, -50, 6)
    assert Median().combine(updates_of(rows)).tolist() == [2.0]
    assert Median().combine(updates_of(rows[:4])).tolist() == [1.5]
    assert TrimmedMean(0.2).combine(updates_of(rows)).tolist() == [3.0]  # 1, 2, 6
    assert TrimmedMean(0.1).combine(updates_of(rows)).tolist() == [11.8]  # nothing is trimmed of five
    scaled = updates_of(column(1, 2, 3), scales=[6.0, 1.0, 1.0])
    assert Median().combine(scaled).tolist() == [3.0]


def test_krum_by_hand() -> None:
    # Of five with one hostile, two neighbours count: 0: 1 + 4, 1: 1 + 1, 2: 1 + 4, 10 and 30: more.
    rows = column(0, 1, 2, 10, 30)
    assert Krum(1).combine(updates_of(rows)).tolist() == [1.0]
    three = Krum(1, 3).combine(updates_of(rows, [0.25, 0.125, 0.125, 0.25, 0.25]))
    assert three.item() == pytest.approx((0.25 * 0 + 0.125 * 1 + 0.125 * 2) / 0.5)


def test_equal_scores_go_to_the_lower_client() -> None:
    assert Krum().combine(updates_of(column(5, 5, 9, 9))).tolist() == [5.0]
    assert Krum().combine(updates_of(column(9, 9, 5, 5))).tolist() == [9.0]


@pytest.mark.parametrize(
    ("part", "clients", "needed"), [(Krum(), 2, 3), (Krum(2), 6, 7), (Krum(1, 5), 5, 6), (Krum(0, 9), 8, 9)]
)
def test_krum_says_how_many_clients_it_needs(part: Krum, clients: int, needed: int) -> None:
    with pytest.raises(InputError, match=rf"clients = {clients}: {part} needs {needed} or more") as caught:
        part.combine(updates_of(random_rows(clients)))
    assert "Try more clients per round" in str(caught.value)
    part.combine(updates_of(random_rows(needed)))


@pytest.mark.parametrize("seed", range(5))
def test_the_geometric_median_is_the_minimum(seed: int) -> None:
    rows = random_rows(7, d=3, seed=seed)
    rows[0] += 20
    shares = [0.1, 0.2, 0.1, 0.15, 0.15, 0.1, 0.2]
    scales = [1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 1.0]
    points = rows.numpy() * np.array(scales)[:, None]

    def cost(v: np.ndarray) -> float:
        return float(np.array(shares) @ np.linalg.norm(points - v, axis=1))

    found = GeometricMedian(iterations=500).combine(updates_of(rows, shares, scales)).numpy()
    best = minimize(cost, points.mean(0), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    np.testing.assert_allclose(found, best.x, atol=1e-6)
    assert cost(found) <= best.fun + 1e-6  # what the smoothing may cost
    few = GeometricMedian().combine(updates_of(rows, shares, scales)).numpy()
    assert cost(few) <= best.fun * (1 + 1e-4)


def test_the_geometric_median_on_a_line_is_the_weighted_median() -> None:
    found = GeometricMedian(iterations=300).combine(updates_of(column(0, 1, 50), [0.2, 0.2, 0.6]))
    assert found.item() == pytest.approx(50, abs=1e-4)
    alike = GeometricMedian().combine(updates_of(column(3, 3, 3)))
    assert alike.item() == pytest.approx(3)


@pytest.mark.parametrize("part", ROBUST, ids=str)
def test_one_huge_update_does_not_matter(part: Aggregation) -> None:
    rows = random_rows(9)
    honest = part.combine(updates_of(rows[1:]))
    rows[0] = 1e9
    assert (part.combine(updates_of(rows)) - honest).norm() < 3


@pytest.mark.parametrize("part", [Average(), Nova(), *ROBUST], ids=str)
def test_nothing_is_changed_in_place_and_the_dtype_stays(part: Aggregation) -> None:
    rows = random_rows(6).float()
    before = rows.clone()
    found = part.combine(updates_of(rows))
    assert torch.equal(rows, before)
    assert (found.dtype, found.shape) == (torch.float32, rows[0].shape)


def test_the_numbers_are_checked() -> None:
    for wrong in (
        lambda: TrimmedMean(0.5),
        lambda: TrimmedMean(-0.1),
        lambda: Krum(malicious=-1),
        lambda: Krum(keep=0),
        lambda: GeometricMedian(iterations=0),
        lambda: GeometricMedian(eps=0.0),
    ):
        with pytest.raises(InputError, match="Try"):
            wrong()
