"""Losses and metrics of all kinds: the engines agree, whether or not a loss is a mean over samples."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from bherd import compiled, methods
from bherd.engines import ReferenceEngine, SimulateEngine, linear_compiled
from bherd.engines.evaluation import AT_ONCE, joined
from bherd.engines.linear import has_closed_form
from bherd.engines.simulate import linear_of
from bherd.errors import InputError
from bherd.loop.state import Local, start_state
from bherd.tasks.losses import Hits, Loss, class_hits, cross_entropy, is_count, is_mean, squared_hinge
from bherd.tasks.task import Task
from tests.tiny import CLASSES, federate, tiny_dataset, tiny_task

WEIGHT = torch.tensor([5.0, 0.1, 1.0, 0.3], dtype=torch.float64)


def pairwise(outputs: Tensor, targets: Tensor) -> Tensor:
    """Whether two samples are of one class, for every pair."""
    same = (targets[:, None] == targets[None, :]).to(outputs.dtype)
    return functional.binary_cross_entropy_with_logits(outputs @ outputs.T, same)


def spread(outputs: Tensor, targets: Tensor) -> Tensor:
    """A mean less what the outputs of a batch have in common."""
    return functional.cross_entropy(outputs, targets) + outputs.mean(0).square().sum()


LOSSES: dict[str, Loss] = {
    "by name": cross_entropy,
    "plain, but a user's": lambda o, y: functional.cross_entropy(o, y),
    "class weights": lambda o, y: functional.cross_entropy(o, y, weight=WEIGHT),
    "class weights as a module": nn.CrossEntropyLoss(weight=WEIGHT),
    "ignored class": lambda o, y: functional.cross_entropy(o, y, ignore_index=3),
    "label smoothing": lambda o, y: functional.cross_entropy(o, y, label_smoothing=0.3),
    "pairwise": pairwise,
    "sum": lambda o, y: functional.cross_entropy(o, y, reduction="sum") / 100,
    "spread": spread,
}
SIZES = (70, 83)
"""With batches of 40 every batch is long enough to be divided."""


@pytest.fixture(scope="module", params=["mlp", "cnn", "logistic", "tests.user_models:batch_norm"])
def task(request: pytest.FixtureRequest) -> Task:
    """A test set that takes more than one pass."""
    data = tiny_dataset(sum(SIZES), test=AT_ONCE + 217, shape=(1, 4, 4))
    return tiny_task(request.param, SIZES, dataset=data)


def with_loss(task: Task, loss: Loss, hits: Hits = class_hits) -> Task:
    return task._replace(model=task.model._replace(loss=loss, hits=hits))


def assert_engines_agree(task: Task, *, workers: int = 1) -> None:
    for method in (methods.named("fedavg"), methods.named("bherd-scaffold", alpha=0.5)):
        fast, slow = (
            federate(task, method, engine=engine, rounds=2, batch=40, epochs=2.0, lr=0.02, workers=workers)
            for engine in ("simulate", "reference")
        )
        assert fast.kept == slow.kept
        torch.testing.assert_close(fast.params, slow.params, rtol=0, atol=1e-12)
        np.testing.assert_allclose(fast.losses, slow.losses, rtol=1e-12, atol=1e-12)
        for one, other in zip(fast.records[-1].outcomes, slow.records[-1].outcomes, strict=True):
            assert one.loss == pytest.approx(other.loss, rel=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_engines_agree_on_every_loss(task: Task, loss: str) -> None:
    assert_engines_agree(with_loss(task, LOSSES[loss]))


@pytest.mark.parametrize("loss", ["class weights", "sum"])
def test_engines_agree_where_several_workers_share_a_client(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bherd.engines.simulate._WORTH_A_THREAD", 0)
    task = tiny_task("mlp", (70, 83, 75), dataset=tiny_dataset(228, test=AT_ONCE + 217))
    assert_engines_agree(with_loss(task, LOSSES[loss]), workers=2)


@pytest.mark.parametrize("loss", ["class weights", "label smoothing", "pairwise"])
def test_the_compiled_closed_form_is_for_its_own_loss_alone(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled.available():
        pytest.skip("numba is not installed")
    monkeypatch.setattr(linear_compiled, "COMPILED_FROM", 0)
    task = tiny_task("logistic", SIZES)
    assert linear_of(task) is not None
    assert linear_of(with_loss(task, LOSSES[loss])) is None
    assert_engines_agree(with_loss(task, LOSSES[loss]))


@pytest.mark.parametrize("model", ["svm", "logistic", "mlp"])
def test_losses_by_hand_in_plain_torch(model: str) -> None:
    """One step on one batch of a weighted loss, and its evaluation, against six lines of torch."""
    task = tiny_task(model, (64,), dataset=tiny_dataset(64, test=AT_ONCE + 217))
    weighted: Loss = (
        LOSSES["class weights"] if model != "svm" else lambda o, y: (o.squeeze(1) * y).exp().mean().log()
    )
    task = with_loss(task, weighted, task.model.hits)
    task = task._replace(model=task.model._replace(decay=0.0))
    run = federate(task, methods.named("fedavg"), rounds=1, batch=64, lr=0.3)
    module = task.model.module
    optimizer = torch.optim.SGD(module.parameters(), lr=0.3)
    weighted(module(task.x_train), task.y_train).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    after = torch.cat([p.detach().reshape(-1) for p in module.parameters()])
    torch.testing.assert_close(run.params, after, rtol=0, atol=1e-14)
    with torch.no_grad():
        expected = float(weighted(module(task.x_test), task.y_test))
    assert run.losses[0].test_loss == pytest.approx(expected, rel=1e-12)


# --- what is known of a loss -----------------------------------------------------------------


def test_only_named_losses_are_means() -> None:
    assert is_mean(cross_entropy)
    assert is_mean(squared_hinge)
    assert is_count(class_hits)
    for loss in (functional.cross_entropy, functional.mse_loss, nn.CrossEntropyLoss(), pairwise):
        assert not is_mean(loss)


def test_what_is_known_survives_another_process() -> None:
    pickle = pytest.importorskip("cloudpickle")
    again = pickle.loads(pickle.dumps(tiny_task("logistic").model))
    assert is_mean(again.loss)
    assert is_count(again.hits)


class Doubled(nn.Linear):
    def forward(self, input: Tensor) -> Tensor:
        return 2 * super().forward(input)


def hooked(features: int) -> nn.Module:
    module = nn.Linear(features, CLASSES)
    module.register_forward_hook(lambda _module, _inputs, outputs: 2 * outputs)
    return module


def frozen_bias(features: int) -> nn.Module:
    module = nn.Linear(features, CLASSES)
    module.bias.requires_grad_(False)
    return module


MODULES: dict[str, Callable[[int], nn.Module]] = {
    "another class": lambda features: Doubled(features, CLASSES),
    "a hook": hooked,
    "a frozen bias": frozen_bias,
    "no bias": lambda features: nn.Linear(features, CLASSES, bias=False),
    "two layers": lambda features: nn.Sequential(nn.Linear(features, 5), nn.Tanh(), nn.Linear(5, CLASSES)),
    "more outputs": lambda features: nn.Linear(features, CLASSES + 3),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_linear_model_with_another_module(name: str) -> None:
    task = tiny_task("logistic", SIZES)
    torch.manual_seed(0)
    module = MODULES[name](task.x_train.shape[1]).double()
    task = task._replace(model=task.model._replace(module=module))
    assert has_closed_form(task) == (name == "more outputs")
    assert_engines_agree(task)


def test_a_linear_model_with_another_metric() -> None:
    task = tiny_task("logistic", SIZES)
    assert has_closed_form(task)
    assert not has_closed_form(with_loss(task, cross_entropy, lambda o, _: o.sum()))


def test_targets_out_of_range_are_an_error_and_no_other_memory() -> None:
    task = tiny_task("logistic", SIZES)
    wrong = task._replace(y_train=torch.full_like(task.y_train, -100))
    assert not has_closed_form(wrong)
    for engine in ("simulate", "reference"):
        with pytest.raises(IndexError, match="out of bounds"):
            federate(wrong, methods.named("fedavg"), engine=engine, rounds=1)


def test_targets_that_are_probabilities() -> None:
    task = tiny_task("logistic", SIZES)
    soft = task._replace(
        y_train=functional.one_hot(task.y_train, CLASSES).double().mul(0.8).add(0.05),
        y_test=functional.one_hot(task.y_test, CLASSES).double().mul(0.8).add(0.05),
    )
    assert_engines_agree(with_loss(soft, cross_entropy, lambda o, y: (o.argmax(1) == y.argmax(1)).sum()))


def test_shapes_that_would_broadcast_are_refused() -> None:
    with pytest.raises(InputError, match=r"squared_hinge: outputs of shape \(3, 2\)"):
        squared_hinge(torch.zeros(3, 2), torch.ones(3))
    with pytest.raises(InputError, match=r"targets of shape \(3, 1\)"):
        squared_hinge(torch.zeros(3, 1), torch.ones(3, 1))
    with pytest.raises(InputError, match=r"cross_entropy: the outputs have shape \(3,\)"):
        cross_entropy(torch.zeros(3), torch.ones(3))


# --- metrics ---------------------------------------------------------------------------------


def explained(outputs: Tensor, targets: Tensor) -> Tensor:
    """R^2 times the number of samples."""
    wanted = targets.to(outputs.dtype)
    rest = (outputs[:, 0] - wanted).square().sum()
    return len(targets) * (1 - rest / (wanted - wanted.mean()).square().sum())


METRICS: dict[str, Hits] = {
    "absolute error": lambda o, y: (o[:, 0] - y).abs().sum(),
    "half a hit": lambda o, y: 0.5 * (o.argmax(1) == y).sum(),
    "explained variance": explained,
    "largest output": lambda o, y: o.max() + 0 * y.sum(),
    "count": class_hits,
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("model", ["logistic", "mlp"])
@pytest.mark.parametrize("loss", ["by name", "class weights"])
def test_metrics_are_exact_and_the_same_under_both_engines(metric: str, model: str, loss: str) -> None:
    """A metric is given all outputs at once, and keeps its fraction."""
    task = tiny_task(model, SIZES, dataset=tiny_dataset(sum(SIZES), test=AT_ONCE + 217))
    task = with_loss(task, LOSSES[loss], METRICS[metric])
    runs = [federate(task, methods.named("fedavg"), engine=engine, rounds=1, batch=40) for engine in ENGINES]
    nn.utils.vector_to_parameters(runs[0].params, list(task.model.module.parameters()))
    with torch.no_grad():
        expected = float(METRICS[metric](task.model.module(task.x_test), task.y_test)) / (AT_ONCE + 217)
    for run in runs:
        assert run.losses[0].test_accuracy == pytest.approx(expected, rel=1e-12)


ENGINES = ("simulate", "reference")


# --- outputs in parts ------------------------------------------------------------------------


def test_outputs_are_joined_in_every_form() -> None:
    sizes = (AT_ONCE, AT_ONCE, 5)
    total = sum(sizes)
    parts = list(torch.split(torch.randn(total, 3), AT_ONCE))
    assert [len(part) for part in parts] == list(sizes)
    whole = torch.cat(parts)
    assert torch.equal(joined(parts, total), whole)
    found = joined([{"a": (part, None), "b": [part + 1]} for part in parts], total)
    assert torch.equal(found["a"][0], whole)
    assert found["a"][1] is None
    assert torch.equal(found["b"][0], whole + 1)

    class Pair(NamedTuple):
        one: Tensor
        other: Tensor

    pair = joined([Pair(part, -part) for part in parts], total)
    assert isinstance(pair, Pair)
    assert torch.equal(pair.other, -whole)


@pytest.mark.parametrize("wrong", [torch.zeros(7, AT_ONCE), torch.zeros(())])
def test_outputs_without_a_row_per_sample_are_refused(wrong: Tensor) -> None:
    with pytest.raises(InputError, match="one row per sample is expected"):
        joined([wrong, wrong], 2 * AT_ONCE)
    assert joined([wrong], 10) is wrong
    with pytest.raises(InputError, match="the model returned str"):
        joined(["a", "b"], 2 * AT_ONCE)


class Neighbours(nn.Module):
    """Outputs that depend on the other samples of a pass, in evaluation too."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(64, track_running_stats=False)
        self.linear = nn.Linear(64, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        outputs: Tensor = self.linear(self.norm(x.flatten(1)))
        return outputs


def test_a_pass_of_an_evaluation_is_the_same_under_both_engines() -> None:
    task = tiny_task("mlp", SIZES, dataset=tiny_dataset(sum(SIZES), test=AT_ONCE + 217))
    torch.manual_seed(0)
    assert_engines_agree(task._replace(model=task.model._replace(module=Neighbours().double())))


class Both(nn.Module):
    """Two outputs, as a model with a second head has them."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(64, CLASSES)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        outputs = self.linear(x)
        return outputs, outputs.sum(1)


def test_a_model_with_two_outputs() -> None:
    task = tiny_task("mlp", SIZES, dataset=tiny_dataset(sum(SIZES), test=AT_ONCE + 217))
    torch.manual_seed(0)
    task = task._replace(model=task.model._replace(module=Both().double()))
    assert_engines_agree(
        with_loss(
            task,
            lambda o, y: functional.cross_entropy(o[0], y) + o[1].var(),
            lambda o, y: (o[0].argmax(1) == y).sum(),
        )
    )


def test_a_user_loss_may_view_the_outputs_of_a_convolution() -> None:
    """Channels come last inside only: outputs are laid out as a plain pass lays them out."""
    task = tiny_task("cnn", SIZES, dataset=tiny_dataset(sum(SIZES), shape=(3, 8, 8)))
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, CLASSES, 3), nn.ReLU()).double()
    task = task._replace(model=task.model._replace(module=module))
    assert_engines_agree(
        with_loss(
            task,
            lambda o, y: functional.cross_entropy(o.view(len(y), CLASSES, -1).mean(2), y, weight=WEIGHT),
            lambda o, y: (o.view(len(y), CLASSES, -1).mean(2).argmax(1) == y).sum(),
        )
    )


def test_the_metric_is_not_computed_on_the_training_samples() -> None:
    counts: list[int] = []

    def metric(outputs: Tensor, targets: Tensor) -> Tensor:
        counts.append(len(targets))
        return outputs.sum()

    task = with_loss(tiny_task("mlp", SIZES), cross_entropy, metric)
    local, method = Local(10, 1.0, 0.1, 0), methods.named("fedavg")
    for kind in (SimulateEngine, ReferenceEngine):
        engine = kind(task, method, local)
        engine.evaluate(start_state(task, method).params, None, train=True)
        engine.close()
    assert counts == [30, 30]
