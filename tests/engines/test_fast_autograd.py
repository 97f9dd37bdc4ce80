"""Flat autograd by halves of a batch: the reference's results, whoever does the halves."""

import numpy as np
import pytest
import torch
from torch import nn

from bherd import methods
from bherd.engines import SimulateEngine, autograd
from bherd.engines.autograd import FlatModule, separable
from bherd.loop.state import Local
from bherd.orders.reshuffled import Reshuffled
from bherd.tasks.task import Task
from tests.tiny import federate, tiny_dataset, tiny_task

SIZES = (48, 40, 36, 52, 44)
METHODS = {
    "fedavg": methods.named("fedavg"),
    "bherd": methods.named("bherd-fedavg", alpha=0.5),
    "scaffold": methods.named("bherd-scaffold", alpha=0.5),
}


def convolutional(channels: int, dtype: torch.dtype = torch.float64) -> Task:
    data = tiny_dataset(sum(SIZES), shape=(channels, 8, 8))
    return tiny_task("cnn", SIZES, dtype=dtype, dataset=data)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", METHODS)
def test_halves_and_channels_last_equal_reference(
    channels: int, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autograd, "_SMALLEST_HALF", 3)
    task = convolutional(channels)
    fast, slow = (
        federate(task, METHODS[name], engine=engine, rounds=2, batch=9, order=Reshuffled())
        for engine in ("simulate", "reference")
    )
    assert fast.kept == slow.kept
    assert torch.allclose(fast.params, slow.params, rtol=0, atol=1e-12)
    assert np.allclose(fast.losses, slow.losses, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_no_bit_depends_on_who_does_the_halves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five clients: by one worker, by two (who share the last client), by three and by four."""
    monkeypatch.setattr(autograd, "_SMALLEST_HALF", 3)
    monkeypatch.setattr("bherd.engines.simulate._WORTH_A_THREAD", 0)
    task = convolutional(1, torch.float32)
    runs = [federate(task, METHODS[name], rounds=2, batch=10, workers=workers) for workers in (1, 2, 3, 4)]
    for run in runs[1:]:
        assert torch.equal(run.params, runs[0].params)
        assert run.losses == runs[0].losses


def test_the_last_client_is_shared_where_its_batches_can_be_divided() -> None:
    local = Local(10, 1.0, 0.1, 0)
    engine = SimulateEngine(convolutional(1), methods.named("fedavg"), local, 2)
    assert [engine._to_share(clients) for clients in (1, 2, 4, 5)] == [1, 0, 0, 1]
    engine.close()
    engine = SimulateEngine(tiny_task("svm"), methods.named("fedavg"), local, 2)
    assert engine._to_share(5) == 0
    engine.close()


def test_only_chains_of_layers_that_keep_samples_apart_are_divided() -> None:
    assert separable(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4, 2)))
    assert not separable(nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)))
    assert not separable(nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5)))
    assert not separable(nn.Linear(4, 2))

    class Own(nn.Linear):
        pass

    assert not separable(nn.Sequential(Own(4, 2)))


def test_a_small_batch_is_not_divided() -> None:
    task = convolutional(1)
    module = FlatModule(task.model)
    calls: list[int] = []
    inner = module._backward

    def counted(inputs: torch.Tensor, *rest: object, **named: object) -> torch.Tensor:
        calls.append(len(inputs))
        return inner(inputs, *rest, **named)  # type: ignore[arg-type]

    module._backward = counted  # type: ignore[method-assign]
    for count in (8, 33):
        module._gradient(task.x_train[:count], task.y_train[:count], torch.zeros_like(module.flat), None)
    assert calls == [8, 16, 17]
