"""The collector records what moved the model, whatever the optimizer made of the gradients."""

import copy
from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from flwr.app import ArrayRecord, Message, RecordDict
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Optimizer

import bherd
from bherd.errors import InputError
from bherd.flower import weights_reply
from bherd.selectors import everything, herding
from bherd.tasks.flat import ravel
from flower_grid import MemoryGrid

Loop = Callable[[nn.Sequential, Optimizer], None]
Batches = list[tuple[Tensor, Tensor]]


class Habit(NamedTuple):
    """A way to train."""

    model: Callable[[], nn.Sequential]
    optimizer: Callable[[nn.Sequential], Optimizer]
    loop: Loop
    steps: int


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def words() -> nn.Sequential:
    return nn.Sequential(nn.EmbeddingBag(20, 4, sparse=True), nn.Linear(4, 3, bias=False))


def half_frozen() -> nn.Sequential:
    model = network()
    for parameter in model[0].parameters():
        parameter.requires_grad_(False)
    return model


def batches(model: nn.Sequential, count: int = 8) -> Batches:
    draw = torch.Generator().manual_seed(1)
    labels = [torch.randint(3, (10,), generator=draw) for _ in range(count)]
    if isinstance(model[0], nn.EmbeddingBag):
        return [(torch.randint(20, (10, 5), generator=draw), y) for y in labels]
    return [(torch.randn(10, 6, generator=draw), y) for y in labels]


def backward(model: nn.Sequential, x: Tensor, y: Tensor) -> float:
    loss = functional.cross_entropy(model(x), y)
    torch.autograd.backward(loss)  # loss.backward(), which has no types
    return loss.item()


def plain(model: nn.Sequential, optimizer: Optimizer) -> None:
    for x, y in batches(model):
        optimizer.zero_grad()
        backward(model, x, y)
        optimizer.step()


def clipped(model: nn.Sequential, optimizer: Optimizer) -> None:
    for x, y in batches(model):
        optimizer.zero_grad()
        backward(model, x, y)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()


def accumulated(model: nn.Sequential, optimizer: Optimizer) -> None:
    for number, (x, y) in enumerate(batches(model), start=1):
        backward(model, x, y)
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()


def scheduled(model: nn.Sequential, optimizer: Optimizer) -> None:
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    for x, y in batches(model):
        optimizer.zero_grad()
        backward(model, x, y)
        optimizer.step()
        schedule.step()


def warmed_up(model: nn.Sequential, optimizer: Optimizer) -> None:
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / 8)  # from 0
    for x, y in batches(model):
        optimizer.zero_grad()
        backward(model, x, y)
        optimizer.step()
        schedule.step()


def with_closure(model: nn.Sequential, optimizer: Optimizer) -> None:
    for x, y in batches(model):

        def closure(x: Tensor = x, y: Tensor = y) -> float:
            optimizer.zero_grad()
            return backward(model, x, y)

        optimizer.step(closure)


def scaled(model: nn.Sequential, optimizer: Optimizer) -> None:
    """The third of eight steps overflows, and the scaler skips it."""
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
    for number, (x, y) in enumerate(batches(model)):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        torch.autograd.backward(scaler.scale(loss))
        if number == 2:
            parameter = next(p for p in model.parameters() if p.grad is not None)
            assert parameter.grad is not None
            parameter.grad.fill_(float("inf"))
        scaler.step(optimizer)
        scaler.update()


def sgd(model: nn.Sequential) -> Optimizer:
    return torch.optim.SGD(model.parameters(), lr=0.5)


def groups(model: nn.Sequential) -> Optimizer:
    body: dict[str, object] = {"params": model[0].parameters(), "lr": 0.01}
    head: dict[str, object] = {"params": model[2].parameters()}
    return torch.optim.SGD([body, head], lr=0.5, momentum=0.9)


HABITS = {
    "SGD": Habit(network, sgd, plain, 8),
    "SGD with momentum": Habit(
        network, lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9), plain, 8
    ),
    "SGD with Nesterov and weight decay": Habit(
        network,
        lambda m: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
        plain,
        8,
    ),
    "Adam": Habit(network, lambda m: torch.optim.Adam(m.parameters(), lr=1e-3), plain, 8),
    "AdamW": Habit(network, lambda m: torch.optim.AdamW(m.parameters(), lr=1e-2, weight_decay=0.3), plain, 8),
    "RMSprop": Habit(network, lambda m: torch.optim.RMSprop(m.parameters(), lr=1e-3), plain, 8),
    "Adadelta": Habit(network, lambda m: torch.optim.Adadelta(m.parameters()), plain, 8),
    "Rprop": Habit(network, lambda m: torch.optim.Rprop(m.parameters()), plain, 8),
    "a rate that is a tensor": Habit(
        network, lambda m: torch.optim.Adam(m.parameters(), lr=torch.tensor(1e-2)), plain, 8
    ),
    "several rates": Habit(network, groups, plain, 8),
    "clipping between backward and step": Habit(network, sgd, clipped, 8),
    "accumulation": Habit(network, sgd, accumulated, 2),
    "StepLR inside the round": Habit(network, sgd, scheduled, 8),
    "warm-up from a rate of 0": Habit(network, sgd, warmed_up, 8),
    "LBFGS": Habit(network, lambda m: torch.optim.LBFGS(m.parameters(), lr=0.1), with_closure, 8),
    "Adam with a closure": Habit(network, lambda m: torch.optim.Adam(m.parameters()), with_closure, 8),
    "sparse gradients": Habit(words, sgd, plain, 8),
    "frozen parameters": Habit(half_frozen, sgd, plain, 8),
    "GradScaler": Habit(network, sgd, scaled, 7),
    "GradScaler, fused": Habit(
        network, lambda m: torch.optim.SGD(m.parameters(), lr=0.5, fused=True), scaled, 7
    ),
}


@pytest.mark.parametrize("name", HABITS)
def test_rate_times_the_sum_of_all_steps_is_the_way_the_model_went(name: str) -> None:
    habit = HABITS[name]
    torch.manual_seed(0)
    model = habit.model()
    without = copy.deepcopy(model)
    start = ravel(model)
    optimizer = habit.optimizer(model)
    collector = bherd.Collector(model, optimizer, selector=everything())
    habit.loop(model, optimizer)
    update = collector.herd()
    assert update.steps == habit.steps
    way = start - ravel(model)
    assert float(way.abs().max()) > 1e-3
    torch.testing.assert_close(update.rate * update.total, way, rtol=0, atol=1e-6)
    habit.loop(without, habit.optimizer(without))
    assert torch.equal(ravel(model), ravel(without)), "watching must not change the training"


@pytest.mark.parametrize("name", HABITS)
def test_with_everything_kept_the_reply_is_the_trained_model(name: str) -> None:
    habit = HABITS[name]
    torch.manual_seed(0)
    model = habit.model()
    MemoryGrid({})
    asked = Message(RecordDict({"arrays": ArrayRecord(model.state_dict())}), 1, "train")
    optimizer = habit.optimizer(model)
    collector = bherd.Collector(model, optimizer, selector=everything())
    habit.loop(model, optimizer)
    record = weights_reply(asked, collector, num_examples=80).content.array_records["arrays"]
    for key, trained in model.state_dict().items():
        torch.testing.assert_close(torch.from_numpy(record[key].numpy()), trained, rtol=0, atol=1e-6)


def test_half_of_the_steps_of_adam_are_a_part_of_its_way() -> None:
    """Kept and dropped steps add up to the whole."""
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    chosen, whole = (
        bherd.Collector(model, optimizer, selector=selector) for selector in (herding(0.5), everything())
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
    collector = bherd.Collector(model, optimizer, selector=everything())
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
