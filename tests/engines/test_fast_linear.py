"""The compiled kernels of linear models: the reference's results, whatever the data and the workers."""

import numpy as np
import pytest
import torch

from bherd import compiled, methods
from bherd.engines import linear_compiled
from bherd.engines.kernels import measure_hinge, measure_softmax, train_hinge, train_softmax
from bherd.engines.linear import Linear
from bherd.engines.linear_compiled import CompiledLinear, pays
from bherd.engines.linear_numpy import NumpyLinear
from bherd.engines.simulate import linear_of
from bherd.loop.client import Work, begin_round
from bherd.loop.kept import sum_kept
from bherd.loop.state import Local, State
from bherd.loop.visits import all_visits, batches, plan_steps
from bherd.method import Method
from bherd.orders.base import Order
from bherd.orders.fixed import FixedOrder
from bherd.orders.reshuffled import Reshuffled
from bherd.parts.records import Kept, Terms
from bherd.stores.base import Dense, Summed
from bherd.stores.half import HalfStore
from bherd.tasks.datasets import Dataset
from bherd.tasks.task import Task
from tests.tiny import CATALOGUE, CLASSES, ORDERS, federate, tiny_task

pytestmark = pytest.mark.skipif(not compiled.available(), reason="numba is not installed")

TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12}


@pytest.fixture(autouse=True)
def compile_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_compiled, "COMPILED_FROM", 0)


def pixels(
    sizes: tuple[int, ...] = (33, 57, 90), dtype: torch.dtype = torch.float32, model: str = "svm"
) -> Task:
    """A tiny task whose inputs are bytes."""
    draw = np.random.default_rng(3)
    labels = draw.permutation(np.arange(sum(sizes) + 40) % CLASSES)
    images = (draw.integers(0, 200, (len(labels), 1, 5, 5)) + 5 * labels[:, None, None, None]).astype(
        np.uint8
    )
    split = sum(sizes)
    data = Dataset("pixels", images[:split], labels[:split], images[split:], labels[split:], CLASSES)
    return tiny_task(model, sizes, dtype=dtype, dataset=data)


def work(params: torch.Tensor, samples: int, offset: torch.Tensor | None = None, lr: float = 0.1) -> Work:
    """FedAvg's first round of client 0, with something added to its gradients."""
    local = Local(10, 1.0, lr, 0)
    begun = begin_round(Method(order=FixedOrder()), local, State(0, params, None, {}, {}), 0, samples)
    return begun._replace(terms=Terms(offset))


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("model", ["svm", "logistic"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=["float32", "float64"])
def test_the_whole_catalogue_equals_reference(name: str, model: str, dtype: torch.dtype) -> None:
    task = pixels(dtype=dtype, model=model)
    assert isinstance(linear_of(task), CompiledLinear)
    fast, slow = (
        federate(task, CATALOGUE[name], engine=engine, rounds=2, epochs=1.5)
        for engine in ("simulate", "reference")
    )
    assert fast.kept == slow.kept
    assert torch.allclose(fast.params, slow.params, rtol=0, atol=TOLERANCE[dtype])
    assert np.allclose(fast.losses, slow.losses, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("model", ["svm", "logistic"])
@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("epochs", [0.4, 1.0, 2.5])
def test_inputs_that_are_no_bytes_and_any_order_equal_reference(
    model: str, order: Order, epochs: float
) -> None:
    task = tiny_task(model)
    fast, slow = (
        federate(
            task,
            methods.named("bherd-scaffold", alpha=0.5),
            engine=engine,
            epochs=epochs,
            order=order,
            batch=7,
        )
        for engine in ("simulate", "reference")
    )
    assert fast.kept == slow.kept
    assert torch.allclose(fast.params, slow.params, rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", ["svm", "logistic"])
@pytest.mark.parametrize(
    "method", [methods.named("fedavg"), methods.named("bherd-fedavg", alpha=0.5)], ids=["fedavg", "bherd"]
)
def test_no_bit_depends_on_the_workers(model: str, method: Method) -> None:
    task = pixels((57, 33, 90, 41, 77), model=model)
    one, three = (federate(task, method, workers=workers, order=Reshuffled()) for workers in (1, 3))
    assert torch.equal(one.params, three.params)
    assert one.losses == three.losses


def test_bytes_are_found_only_where_every_input_is_one() -> None:
    task = pixels()
    inputs, scale = linear_compiled.compact(task.x_train)
    assert inputs.dtype == np.uint8
    assert torch.equal(torch.from_numpy(inputs).to(torch.float32).div_(255), task.x_train)
    assert scale == 1 / 255
    for strange in (0.3, -1 / 255, 256 / 255, float("nan")):
        x = task.x_train.clone()
        x[-1, -1] = strange
        kept, scale = linear_compiled.compact(x)
        assert scale == 1.0
        assert kept.dtype == np.float32


def test_a_small_task_and_a_missing_compiler_take_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    task = pixels()
    monkeypatch.setattr(linear_compiled, "COMPILED_FROM", task.x_train.numel() + 1)
    assert not pays(task)
    assert isinstance(linear_of(task), NumpyLinear)
    monkeypatch.setattr(linear_compiled, "COMPILED_FROM", 0)
    monkeypatch.setattr(linear_compiled, "available", lambda: False)
    assert isinstance(linear_of(task), NumpyLinear)


@pytest.mark.parametrize("make", [NumpyLinear, CompiledLinear])
@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_a_parameter_that_is_not_finite_is_noticed(make: type[Linear], model: str) -> None:
    task = pixels(model=model)
    params = torch.zeros(sum(p.numel() for p in task.model.module.parameters()))
    params[3] = torch.nan
    rows = Summed(params)
    make(task).train(work(params, task.size(0)), rows)  # type: ignore[call-arg]
    assert not torch.isfinite(rows.total.sum())
    assert not np.isfinite(make(task).measure(params, "test", slice(None))[0])  # type: ignore[call-arg]


@pytest.mark.parametrize("make", [NumpyLinear, CompiledLinear])
@pytest.mark.parametrize("wrong", [torch.inf, -torch.inf, torch.nan])
@pytest.mark.parametrize("lr", [0.1, 0.0])
def test_the_loss_tells_of_a_gradient_that_is_not_finite(make: type[Linear], wrong: float, lr: float) -> None:
    """Even of the last one, after which no loss is computed any more."""
    task = pixels()
    params = torch.zeros(26)
    assert work(params, 10).plan.steps == 1
    for rows in (Summed(params), Dense(params.new_empty((1, 26))), HalfStore().rows(1, params)):
        losses = []
        for entry in (0.0, wrong):
            offset = torch.zeros(26)
            offset[7] = entry
            made = make(task)  # type: ignore[call-arg]
            losses.append(made.train(work(params, 10, offset, lr), rows))
        assert np.isfinite(losses[0])
        assert np.isnan(losses[1])


@pytest.mark.parametrize("method", [methods.named("fedavg"), methods.named("bherd-fedavg")])
def test_a_gradient_that_is_not_finite_stops_the_run(method: Method) -> None:
    last = federate(pixels(), method, lr=3e38).records[-1]
    assert (last.round, last.diverged, last.outcomes) == (1, True, [])


@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_the_plain_functions_compute_what_is_compiled(model: str) -> None:
    """The kernels are ordinary Python: without the compiler they give the same, but for rounding."""
    task = pixels(dtype=torch.float64, model=model)
    x, y = (t.numpy() for t in task.samples(1))
    w = np.zeros(sum(p.numel() for p in task.model.module.parameters()))
    train, measure = (train_hinge, measure_hinge) if model == "svm" else (train_softmax, measure_softmax)
    visits = all_visits(plan_steps(len(x), 10, 1.0), None)
    results = []
    for by in (lambda f: f, lambda f: compiled.fast(f, reordered_sums=True)):
        moved, rows = w.copy(), np.zeros((5, len(w)))
        scale, decay, lr, pull = (np.float64(number) for number in (1, 0.1, 0.05, 0.7))
        loss = by(train)(x, y, visits, 10, moved, scale, decay, lr, w + 0.3, pull, w - 1, rows, True)
        results.append(np.concatenate([moved, rows.ravel(), [loss], by(measure)(x, y, moved, np.float64(1))]))
    assert np.abs(results[0]).max() > 0.1
    assert np.allclose(results[0], results[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("size", "batch", "epochs"), [(33, 10, 1.0), (33, 10, 0.4), (33, 10, 2.5), (7, 10, 3.0)]
)
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_all_visits_are_the_batches_of_the_task(size: int, batch: int, epochs: float, order: Order) -> None:
    plan = plan_steps(size, batch, epochs)
    numbers = torch.arange(size)
    visits, _ = order.visit({}, plan, size, np.random.default_rng(8))
    expected = torch.cat([x for x, _ in batches(plan, numbers, numbers, visits)])
    assert len(expected) == plan.steps * plan.batch
    assert all_visits(plan, visits).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", TOLERANCE, ids=["float32", "float64"])
@pytest.mark.parametrize("kept", [[4], [5, 0, 3], [3, 1, 4, 0, 2, 5]])
def test_kept_rows_are_summed_as_the_client_does_it(dtype: torch.dtype, kept: list[int]) -> None:
    trace = torch.randn(6, 37, dtype=dtype, generator=torch.Generator().manual_seed(1)) + 3
    task = pixels(dtype=dtype)
    sum_of = CompiledLinear(task).sum_kept(Dense(trace))
    assert sum_of is not None
    for weights in (None, np.linspace(0.5, 2.0, len(kept))):
        chosen = Kept(np.array(kept), weights)
        found, distance, chance = sum_of(chosen)
        expected, expected_distance, expected_chance = sum_kept(trace, chosen)
        assert torch.allclose(found, expected, rtol=0, atol=TOLERANCE[dtype])
        assert distance == pytest.approx(expected_distance, abs=TOLERANCE[dtype])
        assert chance == pytest.approx(expected_chance, abs=TOLERANCE[dtype])
