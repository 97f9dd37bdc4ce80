"""Inputs that a user has cropped, turned, sliced or expanded are read as what they show, wherever they go."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bherd import compiled, herd, methods
from bherd.algorithms.grab import grab_indices
from bherd.algorithms.herding import herding_order
from bherd.engines import linear_compiled
from bherd.loop import snapshots
from bherd.method import Method
from bherd.orders.base import Order
from bherd.orders.reshuffled import Reshuffled
from bherd.stores import STORES, make_store
from bherd.tasks.datasets import Dataset
from bherd.tasks.flat import ravel, ravel_buffers
from bherd.tasks.task import Task, build_task
from tests.tiny import CLASSES, ORDERS, federate, tiny_dataset, tiny_task

Turn = Callable[[Tensor], Tensor]

IMAGES: dict[str, Turn] = {
    "transposed": lambda x: x.transpose(2, 3),
    "cropped": lambda x: x[:, :, 1:-2, 2:-1],
    "every other pixel": lambda x: x[:, :, ::2, ::2],
    "one channel of three": lambda x: torch.cat([x + 1, x, x - 1], 1)[:, 1:2],
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "every other sample's room": lambda x: torch.stack([x, -x], 1)[:, 0],
    "one column expanded": lambda x: x[:, :, :, 3:4].expand(-1, -1, -1, 6),
    "flipped": lambda x: x.flip(3),
}
ROWS: dict[str, Turn] = {
    "by columns": lambda x: x.T.contiguous().T,
    "every other feature": lambda x: x[:, ::2],
    "a block": lambda x: x[:, 5:40],
    "expanded": lambda x: x[:, 7:8].expand(-1, 9),
}
METHODS = {"fedavg": methods.named("fedavg"), "bherd-scaffold": methods.named("bherd-scaffold", alpha=0.5)}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)


def turned(task: Task, turn: Turn, module: Callable[[Tensor], nn.Module]) -> Task:
    """The task with inputs that are views, targets between others, and a module that fits."""
    torch.manual_seed(3)
    x_train, x_test = turn(task.x_train), turn(task.x_test)

    def between(y: Tensor) -> Tensor:
        return torch.stack([y, torch.zeros_like(y)], 1)[:, 0]

    return task._replace(
        model=task.model._replace(module=module(x_train).to(task.x_train.dtype)),
        x_train=x_train,
        x_test=x_test,
        y_train=between(task.y_train),
        y_test=between(task.y_test),
    )


def plain(task: Task) -> Task:
    """The same numbers, one after the other in memory."""
    return task._replace(
        x_train=task.x_train.clone(memory_format=torch.contiguous_format),
        x_test=task.x_test.clone(memory_format=torch.contiguous_format),
        y_train=task.y_train.clone(memory_format=torch.contiguous_format),
        y_test=task.y_test.clone(memory_format=torch.contiguous_format),
    )


def assert_read_as_shown(task: Task, method: Method, *, order: Order = ORDERS[0]) -> None:
    """`simulate` on the views, on plain copies of them, and `reference` on the views: one result."""
    runs = [
        federate(given, method, engine=engine, order=order, rounds=2, batch=33)
        for given, engine in ((task, "simulate"), (plain(task), "simulate"), (task, "reference"))
    ]
    for other in runs[1:]:
        assert runs[0].kept == other.kept
        torch.testing.assert_close(runs[0].params, other.params, rtol=0, atol=1e-12)
        np.testing.assert_allclose(runs[0].losses, other.losses, rtol=0, atol=1e-12)


def convolution(x: Tensor) -> nn.Sequential:
    with torch.no_grad():
        body = nn.Sequential(nn.Conv2d(x.shape[1], 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        width = body.to(x.dtype)(x[:1]).shape[1]
    return nn.Sequential(*body, nn.Linear(width, CLASSES))


@pytest.mark.parametrize("turn", IMAGES)
@every_method
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_images_of_one_channel(turn: str, method: Method, order: Order) -> None:
    task = tiny_task("cnn", (70, 99, 80), dataset=tiny_dataset(249, shape=(1, 12, 12)))
    assert_read_as_shown(turned(task, IMAGES[turn], convolution), method, order=order)


@pytest.mark.parametrize("turn", ["transposed", "cropped", "every other pixel", "flipped"])
def test_images_of_several_channels(turn: str) -> None:
    task = tiny_task("cnn", (70, 99, 80), dataset=tiny_dataset(249, shape=(3, 12, 12)))
    assert_read_as_shown(turned(task, IMAGES[turn], convolution), methods.named("bherd-fedavg", alpha=0.5))


@pytest.mark.parametrize("turn", ROWS)
@pytest.mark.parametrize("model", ["svm", "logistic"])
@pytest.mark.parametrize("by", ["numpy", "kernels"])
@every_method
def test_linear_models(
    turn: str, model: str, by: str, method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "kernels":
        if not compiled.available():
            pytest.skip("numba is not installed")
        monkeypatch.setattr(linear_compiled, "COMPILED_FROM", 0)
    outputs = 1 if model == "svm" else CLASSES
    task = turned(tiny_task(model), ROWS[turn], lambda x: nn.Linear(x.shape[1], outputs))
    assert_read_as_shown(task, method)


@pytest.mark.parametrize("turn", ROWS)
def test_layers_on_rows(turn: str) -> None:
    task = turned(tiny_task("mlp"), ROWS[turn], lambda x: nn.Sequential(nn.Linear(x.shape[1], CLASSES)))
    assert_read_as_shown(task, methods.named("bherd-fedavg", alpha=0.5), order=Reshuffled())


def test_parameters_and_buffers_that_are_views() -> None:
    """Weights with the channels last, a transposed matrix: raveled as their shape says."""

    def module(x: Tensor) -> nn.Module:
        made = convolution(x)
        first, last = made[0], made[-1]
        assert isinstance(first, nn.Conv2d)
        assert isinstance(last, nn.Linear)
        first.weight = nn.Parameter(first.weight.detach().contiguous(memory_format=torch.channels_last))
        last.weight = nn.Parameter(last.weight.detach().T.contiguous().T)
        return made

    task = tiny_task("cnn", (70, 99, 80), dataset=tiny_dataset(249, shape=(3, 12, 12)))
    task = turned(task, IMAGES["cropped"], module)
    assert not all(p.is_contiguous() for p in task.model.module.parameters())
    assert_read_as_shown(task, methods.named("bherd-scaffold", alpha=0.5))
    buffered = nn.Module()
    buffered.register_buffer("table", torch.arange(6.0).reshape(2, 3).T)
    flat = ravel_buffers(buffered)
    assert flat is not None
    assert flat.tolist() == [0, 3, 1, 4, 2, 5]


def test_a_dataset_of_views_is_dealt_as_it_shows() -> None:
    data = tiny_dataset(98, shape=(1, 8, 8))
    flipped = Dataset(
        "flipped",
        data.x_train[:, :, ::-1].transpose(0, 1, 3, 2),
        data.y_train[::-1],
        data.x_test[:, :, ::-1].transpose(0, 1, 3, 2),
        data.y_test[::-1],
        CLASSES,
    )
    copied = Dataset(
        "copied",
        flipped.x_train.copy(order="C"),
        np.ascontiguousarray(flipped.y_train),
        flipped.x_test.copy(order="C"),
        np.ascontiguousarray(flipped.y_test),
        CLASSES,
    )
    for model in ("cnn", "logistic"):
        one, other = (build_task(given, model, "case1", 3, seed=0) for given in (flipped, copied))
        for name in ("x_train", "y_train", "x_test", "y_test"):
            assert torch.equal(getattr(one, name), getattr(other, name))


TRACES: dict[str, Turn] = {
    "by columns": lambda x: x.T.contiguous().T,
    "every other row": lambda x: torch.stack([x, -x], 1)[:, 0],
    "every other column": lambda x: torch.stack([x, -x], 2)[:, :, 0],
    "flipped": lambda x: x.flip(0).flip(0),
}


@pytest.mark.parametrize("turn", TRACES)
def test_selectors_and_snapshots_of_traces_that_are_views(turn: str) -> None:
    trace = torch.randn(23, 41, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    view = TRACES[turn](trace)
    assert torch.equal(view, trace)
    assert herd(view, 0.4).tolist() == herd(trace, 0.4).tolist()
    assert herd(view.numpy(), 0.4).tolist() == herd(trace.numpy()[::-1][::-1], 0.4).tolist()
    assert herding_order(view, 23).tolist() == herding_order(trace, 23).tolist()
    assert grab_indices(view).tolist() == grab_indices(trace).tolist()
    one, other = snapshots.take(view), snapshots.take(trace)
    assert one.order.tolist() == other.order.tolist()
    np.testing.assert_allclose(one.plane, other.plane, atol=1e-5)
    np.testing.assert_allclose(one.distance, other.distance, rtol=0, atol=1e-12)


def test_the_compiled_herding_of_traces_that_are_views() -> None:
    if not compiled.available():
        pytest.skip("numba is not installed")
    compiled.fast(_one)
    assert compiled.in_use()
    trace = torch.randn(23, 41, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for turn in TRACES.values():
        assert herding_order(turn(trace), 23).tolist() == herding_order(trace, 23).tolist()


def _one() -> int:
    return 1


@pytest.mark.parametrize("name", STORES)
def test_stores_for_parameters_that_are_a_view(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    room = torch.zeros(20, 2)
    rows = make_store(name, 0).rows(3, room[:, 0])
    for step in range(3):
        rows.row(step).add_(torch.arange(20.0) + step)
        rows.done(step)
    signs = torch.ones(20) if name != "sketch" else rows.trace[0].sign() + (rows.trace[0] == 0)
    expected = torch.stack([torch.arange(20.0) + step for step in range(3)])
    assert torch.equal((rows.trace.float() * signs).abs(), expected)


def test_raveling_a_single_parameter_copies_it() -> None:
    module = nn.Linear(3, 2, bias=False)
    flat = ravel(module)
    flat.zero_()
    assert module.weight.any()
