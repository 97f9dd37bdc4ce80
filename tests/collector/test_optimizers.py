"""The collector records what moved the model, whatever the optimizer made of the gradients."""

import copy

import pytest
import torch
from torch import nn

import bherd
from bherd.errors import InputError
from bherd.selectors.everything import Everything
from bherd.selectors.herding import Herding
from bherd.tasks.flat import ravel
from tests.training_habits import HABITS, backward, batches, network, plain, sgd


@pytest.mark.parametrize("name", HABITS)
def test_rate_times_the_sum_of_all_steps_is_the_way_the_model_went(name: str) -> None:
    habit = HABITS[name]
    torch.manual_seed(0)
    model = habit.model()
    without = copy.deepcopy(model)
    start = ravel(model)
    optimizer = habit.optimizer(model)
    collector = bherd.Collector(model, optimizer, selector=Everything())
    habit.loop(model, optimizer)
    update = collector.herd()
    assert update.steps == habit.steps
    way = start - ravel(model)
    assert float(way.abs().max()) > 1e-3
    torch.testing.assert_close(update.rate * update.total, way, rtol=0, atol=1e-6)
    habit.loop(without, habit.optimizer(without))
    assert torch.equal(ravel(model), ravel(without)), "watching must not change the training"


def test_half_of_the_steps_of_adam_are_a_part_of_its_way() -> None:
    """Kept and dropped steps add up to the whole."""
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    chosen, whole = (
        bherd.Collector(model, optimizer, selector=selector) for selector in (Herding(0.5), Everything())
    )
    plain(model, optimizer)
    kept, total = chosen.herd(), whole.herd()
    assert len(kept.kept) == 4
    ratio = float(kept.total.norm() / total.total.norm())
    assert 0.3 < ratio < 0.7


def test_half_precision_parameters_are_recorded_in_single() -> None:
    torch.manual_seed(0)
    model = network().bfloat16()
    start = ravel(model).float()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    collector = bherd.Collector(model, optimizer, selector=Everything())
    for x, y in batches(model):
        optimizer.zero_grad()
        backward(model, x.bfloat16(), y)
        optimizer.step()
    update = collector.herd()
    assert update.total.dtype == torch.float32
    torch.testing.assert_close(update.rate * update.total, start - ravel(model).float(), rtol=0, atol=1e-6)


def shrink(model: nn.Sequential) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.sub_(0.125)


@pytest.mark.parametrize("when", ["between two steps", "after the last"])
def test_a_model_changed_behind_the_optimizer_is_refused_with_the_gap(when: str) -> None:
    model = network()
    optimizer = sgd(model)
    collector = bherd.Collector(model, optimizer)
    plain(model, optimizer)
    shrink(model)
    if when == "between two steps":
        plain(model, optimizer)
    with pytest.raises(InputError, match=r"\|rate x sum of the steps - \(start - end\)\| = 0\.125 at most"):
        collector.herd()


def test_a_second_optimizer_is_refused_with_the_gap() -> None:
    model = network()
    first = torch.optim.SGD(model[0].parameters(), lr=0.5)
    second = torch.optim.SGD(model[2].parameters(), lr=0.5)
    collector = bherd.Collector(model, first)
    for x, y in batches(model):
        model.zero_grad()
        backward(model, x, y)
        first.step()
        second.step()
    with pytest.raises(InputError, match=r"must be 0, but something else than the collector's optimizer"):
        collector.herd()


def test_weights_swapped_for_an_evaluation_and_back_are_no_gap() -> None:
    model = network()
    optimizer = sgd(model)
    collector = bherd.Collector(model, optimizer)
    plain(model, optimizer)
    kept = copy.deepcopy(model.state_dict())
    shrink(model)
    model.load_state_dict(kept)
    plain(model, optimizer)
    assert collector.herd().steps == 16


def test_a_model_that_was_lost_behind_the_optimizer_is_refused() -> None:
    model = network()
    optimizer = sgd(model)
    collector = bherd.Collector(model, optimizer)
    plain(model, optimizer)
    nn.init.constant_(next(model.parameters()), float("nan"))
    with pytest.raises(InputError, match="= nan at most"):
        collector.herd()


def test_parameters_frozen_inside_the_round_are_refused() -> None:
    model = network()
    optimizer = sgd(model)
    collector = bherd.Collector(model, optimizer)
    plain(model, optimizer)
    model[0].weight.requires_grad_(False)
    plain(model, optimizer)
    with pytest.raises(InputError, match="frozen or released inside the round"):
        collector.herd()
