"""Participation, evaluation and divergence: what the round loop does with any engine."""

import itertools
import warnings

import numpy as np
import pytest
import torch

from bherd import Config, methods, simulate
from bherd.corrections.control_variates import ControlVariates
from bherd.corrections.none import NoCorrection
from bherd.engines import SimulateEngine
from bherd.loop.rounds import run_rounds
from bherd.loop.server import choose_clients, cohort_size
from bherd.loop.state import Local, RunPlan, State, start_state
from bherd.method import Method
from bherd.orders.fixed import FixedOrder
from bherd.selectors.base import Selector
from bherd.servers.sgd import ServerSgd
from tests.tiny import assert_same_state, federate, selectors, tiny_dataset, tiny_task

every_engine = pytest.mark.parametrize("engine", ["reference", "simulate"])
every_selector = pytest.mark.parametrize("selector", selectors(), ids=str)


def participants(clients: int, cohort: int | float, seed: int, round: int) -> list[int]:
    """Whom a round asks, by default uniformly at random."""
    state = State(round - 1, torch.zeros(1), None, {}, {})
    asked, after = choose_clients(Method(), RunPlan(9, cohort, 1.0, 0.1, seed), clients, state)
    assert after is state
    return asked


@pytest.mark.parametrize(
    ("clients", "cohort", "count"),
    [
        (10, 1.0, 10),
        (10, 0.1, 1),
        (10, 0.25, 3),  # 2.5 + 0.5
        (10, 0.01, 1),
        (100, 0.29, 29),
        (10, 1, 1),
        (10, 4, 4),
        (10, 10, 10),
        (1, 0.5, 1),
    ],
)
def test_how_many_take_part(clients: int, cohort: int | float, count: int) -> None:
    chosen = participants(clients, cohort, seed=0, round=1)
    assert len(chosen) == len(set(chosen)) == count == cohort_size(cohort, clients)
    assert chosen == sorted(chosen)
    assert set(chosen) <= set(range(clients))


def test_participants_are_drawn_from_the_seed_round_by_round() -> None:
    draws = [tuple(participants(20, 5, 0, number)) for number in range(1, 9)]
    assert draws == [tuple(participants(20, 5, 0, number)) for number in range(1, 9)]
    assert len(set(draws)) == 8
    assert tuple(participants(20, 5, 1, 1)) != draws[0]


def test_every_client_has_its_turn() -> None:
    """4,000 rounds, one of four a round: 1,000 each, give or take 5 standard deviations (137)."""
    counts = np.zeros(4)
    for number in range(4000):
        counts[participants(4, 0.25, 3, number)] += 1
    assert np.abs(counts - 1000).max() < 137


@every_engine
def test_shares_are_those_of_the_participants(engine: str) -> None:
    """One client a round: its share is 1, so FedAvg moves to where that client's own SGD ends."""
    task = tiny_task("svm")
    run = federate(task, methods.named("fedavg"), engine=engine, rounds=1, cohort=1)
    (outcome,) = run.records[0].outcomes
    torch.testing.assert_close(run.params, -0.05 * outcome.report.update)


def test_evaluation_when_due_and_after_the_last_round() -> None:
    task, method = tiny_task("svm"), methods.named("fedavg")
    plan = RunPlan(5, 1.0, 1.0, 0.05, 0, eval_every=2, eval_train=False)
    engine = SimulateEngine(task, method, Local(10, 1.0, 0.05, 0))
    records = [record for _, record in run_rounds(engine, task, method, plan, start_state(task, method))]
    engine.close()
    assert [record.round for record in records] == [1, 2, 3, 4, 5]
    assert [record.evaluation is not None for record in records] == [False, True, False, True, True]
    last = records[-1].evaluation
    assert last is not None
    assert np.isnan(last.train_loss)
    assert not records[-1].diverged


def test_rounds_can_be_taken_up_from_any_state() -> None:
    task, method = tiny_task("svm"), methods.named("bherd-scaffold", alpha=0.5)
    plan = RunPlan(6, 2, 1.0, 0.05, 0)
    engine = SimulateEngine(task, method, Local(10, 1.0, 0.05, 0))
    states = [s for s, _ in run_rounds(engine, task, method, plan, start_state(task, method))]
    for state in states[:-1]:
        *_, (end, _) = run_rounds(engine, task, method, plan, state)
        assert_same_state(end, states[-1])
    engine.close()


# --- divergence ------------------------------------------------------------------------------


@every_engine
@every_selector
@pytest.mark.parametrize("stateful", [False, True])
@pytest.mark.parametrize("model", ["svm", "logistic", "mlp"])
def test_a_run_that_diverges_stops_and_says_so(
    engine: str, selector: Selector, stateful: bool, model: str
) -> None:
    method = Method(selector, ControlVariates() if stateful else NoCorrection(), order=FixedOrder())
    task = tiny_task(model, dtype=torch.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = federate(task, method, engine=engine, rounds=40, lr=1e38)
    assert len(run.records) < 40
    assert [record.diverged for record in run.records] == [False] * (len(run.records) - 1) + [True]
    assert torch.isfinite(run.params).all()
    assert run.state.round == run.records[-1].round - 1


@every_engine
@every_selector
def test_a_large_learning_rate_diverges_after_a_while(engine: str, selector: Selector) -> None:
    """lr = 1e6, the state before the last round is the one that a shorter run ends with."""
    method = Method(selector, order=FixedOrder())
    task = tiny_task("svm", [12, 12, 12], dtype=torch.float32)
    run = federate(task, method, engine=engine, rounds=100, lr=1e6)
    assert run.records[-1].diverged
    finite = len(run.records) - 1
    assert finite >= 1
    shorter = federate(task, method, engine=engine, rounds=finite, lr=1e6)
    assert torch.equal(shorter.params, run.params)
    assert not any(record.diverged for record in shorter.records)


@every_engine
def test_an_infinite_loss_of_finite_parameters_is_divergence(engine: str) -> None:
    """The server's step leads to about 1e25: finite in single precision, its square is not."""
    method = Method(server=ServerSgd(1e28))
    run = federate(tiny_task("svm", dtype=torch.float32), method, engine=engine, rounds=5)
    assert len(run.records) == 1
    record = run.records[0]
    assert record.diverged
    assert record.outcomes
    assert record.evaluation is not None
    assert np.isinf(record.evaluation.train_loss)
    assert not run.params.any()  # the start


@every_engine
def test_parameters_that_overflow_at_the_server_are_divergence(engine: str) -> None:
    method = Method(server=ServerSgd(1e300))
    run = federate(tiny_task("svm", dtype=torch.float32), method, engine=engine, rounds=5)
    assert [(r.diverged, r.evaluation) for r in run.records] == [(True, None)]
    assert not run.params.any()


@every_engine
@pytest.mark.parametrize("model", ["svm", "mlp"])
def test_data_that_overflow_are_divergence(engine: str, model: str) -> None:
    data = tiny_dataset()
    huge = data._replace(x_train=data.x_train * np.float32(1e30))
    task = tiny_task(model, dataset=huge, dtype=torch.float32)
    run = federate(task, methods.named("bherd-fedavg", alpha=0.5), engine=engine, rounds=5)
    assert run.records[-1].diverged
    assert torch.isfinite(run.params).all()


def test_the_result_of_a_simulation_names_the_round() -> None:
    rounds = []
    config = Config().replace(lr=1e6, rounds=200)
    result = simulate(config, on_round=lambda record: rounds.append(record.round))
    assert result.diverged_at == len(result.metrics) == rounds[-1] < 200
    assert result.metrics[-1]["diverged"] is True
    assert all("diverged" not in line for line in itertools.islice(result.metrics, rounds[-1] - 1))
    assert all(bool(torch.isfinite(value).all()) for value in result.model.values())


def test_a_run_that_does_not_diverge_says_that_too() -> None:
    result = simulate(Config().replace(rounds=2))
    assert result.diverged_at is None
    assert 0 <= result.accuracy <= 1
