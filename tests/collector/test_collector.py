"""The collector: two lines around somebody's own loop do what a client of ours does."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

import bherd
from bherd.engines import ReferenceEngine
from bherd.errors import InputError
from bherd.loop.state import Local, start_state
from bherd.method import Method
from bherd.orders.fixed import FixedOrder
from bherd.selectors.base import Selector
from bherd.selectors.everything import Everything
from bherd.selectors.grab import Grab
from bherd.selectors.herding import Herding
from bherd.selectors.random import RandomShare
from bherd.tasks.flat import unravel
from tests.tiny import tiny_task


def small_model() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 1, bias=False).double()


def unit_sgd(model: nn.Module) -> torch.optim.Optimizer:
    """Steps of exactly the gradient, if the numbers are small and whole."""
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    return torch.optim.SGD(model.parameters(), lr=1.0)


def one_step(model: nn.Module, optimizer: torch.optim.Optimizer, value: float) -> None:
    """A step whose gradient is (value, 0, 0)."""
    model.zero_grad()
    model(torch.tensor([[value, 0.0, 0.0]], dtype=torch.float64)).sum().backward()
    optimizer.step()


@pytest.mark.parametrize(
    "selector",
    [Herding(0.5), Herding(0.1), Grab(), Everything()],
    ids=["half", "tenth", "grab", "everything"],
)
def test_a_loop_of_ones_own_gives_what_a_client_reports(selector: Selector) -> None:
    task = tiny_task("mlp")
    method = Method(selector, order=FixedOrder())
    engine = ReferenceEngine(task, method, Local(10, 1.0, 0.05, 0))
    expected = engine.run_clients(start_state(task, method), [1])[0]

    model = copy.deepcopy(task.model.module)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x, y = task.samples(1)
    collector = bherd.Collector(model, optimizer, selector=selector)
    for start in range(0, 40, 10):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x[start : start + 10]), y[start : start + 10])
        torch.autograd.backward(loss)  # loss.backward(), which has no types
        optimizer.step()
    assert len(collector) == 4
    update = collector.herd()

    assert update.kept.tolist() == expected.kept.tolist()
    assert update.steps == expected.report.steps == 4
    torch.testing.assert_close(update.total, expected.report.update, rtol=1e-10, atol=1e-14)
    named = unravel(task.model.module, expected.report.update)
    assert update.named.keys() == named.keys()
    for name, value in named.items():
        torch.testing.assert_close(update.named[name], value, rtol=1e-10, atol=1e-14)
    assert update.distance == pytest.approx(expected.distance, rel=1e-9, abs=1e-12)
    assert update.random_distance == pytest.approx(expected.random_distance, rel=1e-6, abs=1e-12)


def test_alpha_is_that_of_herd() -> None:
    model = small_model()
    optimizer = unit_sgd(model)
    collector = bherd.Collector(model, optimizer, alpha=0.5)
    for value in (0.0, 10.0, 4.0, 6.0):
        one_step(model, optimizer, value)
    update = collector.herd()
    assert update.kept.tolist() == [2, 3]
    assert update.total.tolist() == [10.0, 0.0, 0.0]


@pytest.mark.parametrize("set_to_none", [True, False])
def test_recorded_steps_are_copies(set_to_none: bool) -> None:
    model = small_model()
    optimizer = unit_sgd(model)
    collector = bherd.Collector(model, optimizer, alpha=1.0)
    one_step(model, optimizer, 5.0)
    model.zero_grad(set_to_none=set_to_none)
    assert collector.herd().total.tolist() == [5.0, 0.0, 0.0]


def test_herding_forgets_what_it_gave_back() -> None:
    model = small_model()
    optimizer = unit_sgd(model)
    collector = bherd.Collector(model, optimizer)
    one_step(model, optimizer, 1.0)
    assert len(collector) == 1
    collector.herd()
    assert len(collector) == 0
    nn.init.ones_(model.weight)  # the server's next model
    one_step(model, optimizer, 2.0)
    assert collector.herd().total.tolist() == [2.0, 0.0, 0.0]


def test_a_random_selector_draws_from_the_seed() -> None:
    def kept(seed: int) -> list[int]:
        model = small_model()
        optimizer = unit_sgd(model)
        collector = bherd.Collector(model, optimizer, selector=RandomShare(0.3), seed=seed)
        for value in range(30):
            one_step(model, optimizer, float(value))
        return [int(step) for step in collector.herd().kept]

    assert kept(1) == kept(1)
    assert kept(1) != kept(2)


def test_frozen_and_unused_parameters() -> None:
    model = nn.ParameterDict({"used": torch.zeros(2), "idle": torch.zeros(3), "frozen": torch.zeros(4)})
    model["frozen"].requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    collector = bherd.Collector(model, optimizer, alpha=1.0)
    (model["used"] * torch.tensor([2.0, 3.0])).sum().backward()
    optimizer.step()
    update = collector.herd()
    assert {name: value.tolist() for name, value in update.named.items()} == {
        "used": [2.0, 3.0],
        "idle": [0.0, 0.0, 0.0],
    }


def test_a_loop_without_steps_is_an_error() -> None:
    model = small_model()
    with pytest.raises(InputError, match="no step was recorded"):
        bherd.Collector(model, unit_sgd(model)).herd()


def test_steps_that_are_not_finite_are_an_error() -> None:
    model = small_model()
    optimizer = unit_sgd(model)
    collector = bherd.Collector(model, optimizer)
    one_step(model, optimizer, float("inf"))
    with pytest.raises(InputError, match="diverged"):
        collector.herd()


def test_a_bad_alpha_is_refused_at_once() -> None:
    model = small_model()
    with pytest.raises(InputError, match="alpha"):
        bherd.Collector(model, unit_sgd(model), alpha=0.0)


def test_what_is_no_optimizer_of_the_model_is_refused_at_once() -> None:
    model = small_model()
    with pytest.raises(InputError, match=r"optimizer = float: must be a torch\.optim\.Optimizer"):
        bherd.Collector(model, 0.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="none of the model's trainable parameters"):
        bherd.Collector(model, unit_sgd(small_model()))


def test_a_forgotten_collector_records_no_more() -> None:
    model = small_model()
    optimizer = unit_sgd(model)
    hooks = optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks
    for _ in range(3):
        collector = bherd.Collector(model, optimizer)
        one_step(model, optimizer, 1.0)
        assert collector.herd().steps == 1
        assert [len(each) for each in hooks] == [1, 1]
    del collector
    assert [len(each) for each in hooks] == [0, 0]
