"""`simulate` against `reference`, and against itself with other numbers of workers."""

import dataclasses

import numpy as np
import pytest
import torch

import bherd.engines.simulate
from bherd import Config, methods, simulate
from bherd.orders.base import Order
from bherd.orders.reshuffled import Reshuffled
from bherd.parts.presets import PRESETS
from bherd.tasks.task import Task
from tests.tiny import CATALOGUE, ORDERS, Run, assert_same_state, federate, named, tiny_task
from tests.user_models import Jealous

MODELS = ["svm", "logistic", "mlp", "cnn", "tests.user_models:batch_norm", "tests.user_models:dropout"]


@pytest.fixture(autouse=True)
def small_clients_are_worth_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny federations would be trained in one thread; here they are to be trained in several."""
    monkeypatch.setattr(bherd.engines.simulate, "_WORTH_A_THREAD", 0)


def assert_same_results(one: Run, other: Run, rtol: float, atol: float) -> None:
    assert_same_state(one.state, other.state, rtol=rtol, atol=atol)
    np.testing.assert_allclose(one.losses, other.losses, rtol=rtol, atol=atol)


def assert_identical(one: Run, other: Run) -> None:
    """Bit by bit: parameters, buffers, all memory, metrics, kept steps and all that is recorded."""
    assert_same_state(one.state, other.state)
    assert one.losses == other.losses
    assert one.kept == other.kept
    for first, second in zip(one.records, other.records, strict=True):
        for a, b in zip(first.outcomes, second.outcomes, strict=True):
            assert (a.loss, a.distance, a.report.client) == (b.loss, b.distance, b.report.client)
            assert a.random_distance == b.random_distance


def both(
    task: Task, name: str, order: Order = ORDERS[0], epochs: float = 1.0, cohort: float = 1.0
) -> tuple[Run, Run]:
    """The same run by either engine."""
    method = CATALOGUE[name] if name in CATALOGUE else named(name, 0.4, "amplified")
    one, other = (
        federate(task, method, engine=engine, epochs=epochs, cohort=cohort, order=order)
        for engine in ("reference", "simulate")
    )
    return one, other


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_combination_is_the_same_under_both_engines(name: str) -> None:
    for model in ("svm", "mlp"):
        one, other = both(tiny_task(model), name, order=Reshuffled(), cohort=0.67)
        assert_same_results(one, other, rtol=1e-10, atol=1e-13)
        assert one.kept == other.kept


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("model", ["logistic", "mlp"])
def test_every_named_method_is_the_same_under_both_engines(name: str, model: str) -> None:
    assert_same_results(*both(tiny_task(model), name), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("epochs", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_every_model_and_number_of_epochs(model: str, epochs: float, order: Order) -> None:
    task = tiny_task(model)
    one, other = both(task, "bherd-scaffold", epochs=epochs, order=order, cohort=0.67)
    assert_same_results(one, other, rtol=1e-10, atol=1e-12)
    assert one.kept == other.kept
    start = torch.cat([p.detach().reshape(-1) for p in task.model.module.parameters()])
    assert not torch.allclose(one.params, start, rtol=1e-3, atol=0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["fedavg", "random-fednova"])
def test_single_precision_agrees_loosely(model: str, name: str) -> None:
    """Choices that hang on rounding are left out here: all are kept, or drawn."""
    one, other = both(tiny_task(model, dtype=torch.float32), name)
    assert one.params.dtype == other.params.dtype == torch.float32
    assert_same_results(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ["fedavg", "bherd-scaffold", "grab-fednova", "random-fedavg"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_number_of_workers_changes_no_bit(model: str, name: str, dtype: torch.dtype) -> None:
    task = tiny_task(model, dtype=dtype)
    runs = [
        federate(task, named(name, 0.4), workers=workers, order=Reshuffled(), rounds=2)
        for workers in (1, 2, 4)
    ]
    assert_identical(runs[0], runs[1])
    assert_identical(runs[0], runs[2])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("engine", ["reference", "simulate"])
def test_a_run_repeats_itself_bit_by_bit(model: str, engine: str) -> None:
    task = tiny_task(model, dtype=torch.float32)
    method = methods.named("bherd-scaffold", alpha=0.4)
    one, other = (federate(task, method, engine=engine, rounds=2) for _ in range(2))
    assert_identical(one, other)


def test_a_run_does_not_depend_on_torchs_own_generator() -> None:
    task = tiny_task("tests.user_models:dropout")
    runs = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        before = torch.get_rng_state()
        runs.append(federate(task, methods.named("fedavg"), workers=2))
        assert torch.equal(torch.get_rng_state(), before)
    assert_identical(*runs)
    other = federate(task, methods.named("fedavg"), workers=2, seed=7)
    assert not torch.allclose(other.params, runs[0].params)


def test_clients_that_draw_from_torchs_generator_are_trained_one_by_one() -> None:
    """The generator is one for all threads: two clients at once would take each other's numbers."""
    Jealous.most = 0
    federate(tiny_task("tests.user_models:Jealous"), methods.named("fedavg"), workers=3, rounds=1)
    assert Jealous.most == 1


def test_the_whole_way_from_a_configuration() -> None:
    """`bherd.simulate` with either engine and any number of workers, on the embedded digits."""
    config = Config().replace(name="bherd-scaffold", rounds=3, lr=0.01, clients=4, dtype="float64")
    results = [
        simulate(config.replace(engine=engine, workers=workers))
        for engine, workers in (("reference", 1), ("simulate", 1), ("simulate", 3))
    ]
    torch.testing.assert_close(results[0].params, results[1].params, rtol=1e-10, atol=1e-13)
    assert torch.equal(results[1].params, results[2].params)
    lines = [[{**m, "seconds": None} for m in result.metrics] for result in results]
    assert lines[1] == lines[2]
    assert results[0].accuracy == results[1].accuracy > 0.5


def test_results_belong_to_the_task_not_to_the_engine() -> None:
    """Engines leave the task's own model where it was, so that a second run starts where the first did."""
    task = tiny_task("tests.user_models:batch_norm")
    method = methods.named("fedavg")
    first = federate(task, method)
    federate(task, method, engine="reference")
    assert_identical(first, federate(task, method))


@pytest.mark.parametrize("workers", [1, 3])
def test_the_number_of_threads_is_given_back(workers: int) -> None:
    before = torch.get_num_threads()
    federate(tiny_task("svm"), methods.named("fedavg"), workers=workers, rounds=1)
    assert torch.get_num_threads() == before


def test_no_client_sees_the_future_of_another() -> None:
    """A client's report does not depend on who else takes part."""
    task = tiny_task("mlp")
    alone = tiny_task("mlp")
    method = dataclasses.replace(methods.named("bherd-fedavg", alpha=0.5))
    everybody = federate(task, method, rounds=1).records[0].outcomes
    few = federate(alone, method, rounds=1, cohort=2).records[0].outcomes
    for outcome in few:
        twin = everybody[outcome.report.client]
        assert torch.equal(outcome.report.update, twin.report.update)
