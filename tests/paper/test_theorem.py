"""Theorem 1's measurement: its gradient, its constants, and its rounds against the reference engine."""

import numpy as np
import pytest

from bherd import simulate
from bherd.config import Config
from bherd.loop.visits import plan_steps
from paper import theorem
from paper.grid import read_settings
from paper.theorem import Client, slope

CONFIG = Config().replace(
    dataset="mnist-mini", rounds=2, dtype="float64", engine="reference", partition="case3", lr=1e-3
)


def _client(seed: int = 0) -> Client:
    draw = np.random.default_rng(seed)
    x = np.hstack([draw.random((40, 6)), np.ones((40, 1))])
    return Client(x, draw.choice([-1.0, 1.0], 40), plan_steps(40, 10, 1.0))


def test_gradient_agrees_with_differences() -> None:
    client = _client()
    w = np.random.default_rng(1).standard_normal(7) / 3
    _, gradient = slope(client.x, client.y, w)
    for axis in range(7):
        shift = np.zeros(7)
        shift[axis] = 1e-6
        difference = slope(client.x, client.y, w + shift)[0] - slope(client.x, client.y, w - shift)[0]
        assert gradient[axis] == pytest.approx(difference / 2e-6, abs=1e-6)


def test_the_batches_average_to_the_whole() -> None:
    client = _client()
    w = np.linspace(-0.2, 0.2, 7)
    assert theorem.batch_slopes(client, w).mean(0) == pytest.approx(slope(client.x, client.y, w)[1])


def test_curvature_bounds_the_change_of_the_gradient() -> None:
    client, draw = _client(), np.random.default_rng(2)
    bound = theorem.largest_curvature(client)
    for _ in range(50):
        u, v = draw.standard_normal((2, 7))
        change = slope(client.x, client.y, u)[1] - slope(client.x, client.y, v)[1]
        assert np.linalg.norm(change) <= bound * np.linalg.norm(u - v) * (1 + 1e-12)


def test_least_loss_is_a_minimum() -> None:
    client = _client()
    least = theorem.least_loss([client])
    draw = np.random.default_rng(3)
    assert all(least <= slope(client.x, client.y, draw.standard_normal(7) / 4)[0] for _ in range(100))


@pytest.mark.parametrize("step", ["equation", "amplified"])
def test_its_rounds_are_those_of_the_reference_engine(step: str) -> None:
    config = CONFIG.replace(step=step)
    clients = theorem.load_clients(config)
    w = np.zeros(785)
    for _ in range(2):
        w, _ = theorem.one_round(read_settings(config), clients, w, 1e-3)
    expected = simulate(config).params.numpy()
    assert w == pytest.approx(expected, abs=1e-12)


def test_rows_say_whether_the_conditions_are_met() -> None:
    clients = [_client(0), _client(1)]
    smoothness = max(map(theorem.largest_curvature, clients))
    fast, slow = (
        theorem._row(
            CONFIG,
            "test",
            clients,
            smoothness,
            0.4,
            theorem.run_along(CONFIG, clients, lr, 2),
        )
        for lr in (1e-1, 1e-6)
    )
    assert not fast.conditions
    assert slow.conditions
    assert slow.holds
    start = np.mean([slope(client.x, client.y, np.zeros(7))[1] for client in clients], axis=0)
    assert slow.left == pytest.approx(start @ start, rel=1e-3)  # so slow that it hardly leaves the start
    assert 0 < slow.beta <= 1
