"""The paper's methods: every correction x selector x aggregation x step length, and against plain numpy."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import Tensor

from bherd import methods
from bherd.aggregations.average import Average
from bherd.aggregations.base import Aggregation
from bherd.aggregations.nova import Nova
from bherd.algorithms.share import kept_count
from bherd.corrections.base import Correction
from bherd.corrections.control_variates import ControlVariates
from bherd.corrections.none import NoCorrection
from bherd.loop.server import aggregate
from bherd.method import Method
from bherd.orders.fixed import FixedOrder
from bherd.parts.presets import PREFIXES
from bherd.parts.records import STEP_LENGTHS, Report, StepLength
from bherd.selectors.base import Selector
from bherd.selectors.everything import Everything
from bherd.selectors.grab import Grab
from bherd.selectors.herding import Herding
from bherd.selectors.random import RandomShare
from bherd.servers.sgd import ServerSgd
from bherd.streams import stream
from bherd.tasks.task import Task
from tests.oracle import Federation, Labels, logistic_loss_and_gradient, svm_loss_and_gradient
from tests.tiny import CATALOGUE, CLASSES, ORDERS, SIZES, federate, memory_of, named, tiny_dataset, tiny_task

every_combination = pytest.mark.parametrize("name", CATALOGUE)
NAMES = [prefix + base for prefix in ("", *PREFIXES) for base in ("fedavg", "fednova", "scaffold")]
every_method = pytest.mark.parametrize("name", [*NAMES, "centralized"])
selecting = pytest.mark.parametrize("name", [name for name in CATALOGUE if not name.endswith("-plain")])
every_step = pytest.mark.parametrize("step", STEP_LENGTHS)


def constant_loss(task: Task) -> Task:
    """The same task with a loss that nothing moves."""
    model = task.model._replace(loss=lambda outputs, _targets: (0.0 * outputs).sum(), decay=0.0)
    torch.nn.init.normal_(next(iter(model.module.parameters())))
    return task._replace(model=model)


def fake_reports() -> list[Report]:
    draw = torch.Generator().manual_seed(5)

    def vector() -> Tensor:
        return torch.randn(11, generator=draw, dtype=torch.float64)

    shapes = [(3, 25, 2, 1), (0, 40, 4, 2), (7, 33, 3, 2), (1, 90, 9, 5)]
    return [Report(client, weight, steps, kept, vector()) for client, weight, steps, kept in shapes]


def moved(
    method: Method, params: Tensor, reports: Sequence[Report], local_lr: float, epochs: float
) -> Tensor:
    """Where the reports take the parameters."""
    memory = method.server.init(params)
    return aggregate(method, memory, params, reports, local_lr=local_lr, epochs=epochs)[0]


@every_combination
@pytest.mark.parametrize("engine", ["reference", "simulate"])
def test_zero_gradients_leave_everything_fixed(name: str, engine: str) -> None:
    task = constant_loss(tiny_task("svm"))
    before = torch.cat([p.detach().reshape(-1) for p in task.model.module.parameters()])
    assert float(before.abs().max()) > 0
    run = federate(task, CATALOGUE[name], engine=engine, rounds=2)
    assert torch.equal(run.params, before)
    memory = memory_of(run.state)
    assert not any(tensor.any() for name, tensor in memory.items() if name.endswith("correction/c"))


every_correction = pytest.mark.parametrize("correction", [NoCorrection(), ControlVariates()], ids=str)


@every_correction
@pytest.mark.parametrize("rule", [Average(), Nova()], ids=str)
@every_step
@pytest.mark.parametrize("engine", ["reference", "simulate"])
def test_herding_of_all_gradients_is_everything(
    correction: Correction, rule: Aggregation, step: StepLength, engine: str
) -> None:
    task = tiny_task("logistic")
    herded, plain = (
        federate(task, Method(selector, correction, rule, order=FixedOrder(), step=length), engine=engine)
        for selector, length in ((Herding(1.0), step), (Everything(), None))
    )
    torch.testing.assert_close(herded.params, plain.params, rtol=1e-12, atol=1e-14)
    assert [sorted(kept) for kept in herded.kept] == plain.kept


@every_correction
@pytest.mark.parametrize("selector", [Everything(), Herding(0.5), RandomShare(0.25)], ids=str)
@every_step
@pytest.mark.parametrize("epochs", [1.0, 2.0])
def test_nova_is_average_where_all_take_equal_steps(
    correction: Correction, selector: Selector, step: StepLength, epochs: float
) -> None:
    """Forty samples each, four steps per epoch: alpha tau is a whole number, so the nominal is the real."""
    task = tiny_task("svm", [40, 40, 40])
    length = None if selector.keeps_all else step
    runs = [
        federate(task, Method(selector, correction, rule, step=length), epochs=epochs)
        for rule in (Average(), Nova())
    ]
    assert len({outcome.report.steps for outcome in runs[0].records[0].outcomes}) == 1
    torch.testing.assert_close(runs[0].params, runs[1].params, rtol=1e-11, atol=1e-14)


def test_nova_is_not_average_where_steps_differ() -> None:
    task = tiny_task("svm")
    first, second = (federate(task, Method(aggregation=rule)) for rule in (Average(), Nova()))
    assert not torch.allclose(first.params, second.params, rtol=1e-3, atol=0)


def test_grab_under_nova_is_average_where_kept_counts_are_equal_too() -> None:
    reports = [Report(i, 10.0 + i, 4, 2, torch.full((3,), 1.0 + i)) for i in range(3)]
    for step in STEP_LENGTHS:
        one, other = (
            moved(Method(Grab(), aggregation=rule, step=step), torch.zeros(3), reports, 0.1, 2.0)
            for rule in (Average(), Nova())
        )
        torch.testing.assert_close(one, other)


@every_combination
def test_the_order_of_reports_does_not_matter(name: str) -> None:
    method = CATALOGUE[name]
    params = torch.linspace(-1, 1, 11, dtype=torch.float64)
    results = [moved(method, params, reports, 0.1, 2.0) for reports in itertools.permutations(fake_reports())]
    assert len(results) == 24
    assert all(torch.equal(result, results[0]) for result in results)


@every_combination
def test_server_lr_multiplies_the_step(name: str) -> None:
    method = CATALOGUE[name]
    params, reports = torch.zeros(11, dtype=torch.float64), fake_reports()
    once = moved(method, params, reports, 0.1, 1.0)
    longer = replace(method, server=ServerSgd(3.0))
    torch.testing.assert_close(moved(longer, params, reports, 0.1, 1.0), 3 * once)


@selecting
def test_amplified_is_longer_by_one_over_alpha(name: str) -> None:
    """With the nominal alpha, or GraB's measured one, equal to every client's kept / steps."""
    method, params = CATALOGUE[name], torch.zeros(3, dtype=torch.float64)
    reports = [Report(i, 1.0 + i, 4, 2, torch.ones(3, dtype=torch.float64)) for i in range(3)]
    steps = [moved(replace(method, step=step), params, reports, 0.1, 1.0) for step in STEP_LENGTHS]
    torch.testing.assert_close(steps[1], steps[0] / 0.5)


matched = pytest.mark.parametrize("name", [name for name in CATALOGUE if name.endswith("-matched")])


@matched
@pytest.mark.parametrize("epochs", [0.5, 1.0, 3.0])
def test_the_matched_step_has_fedavg_s_length_whatever_was_kept(name: str, epochs: float) -> None:
    """Where all gradients are one vector v, FedAvg goes sum p_i tau_i v: here 1/10 x 1 + 9/10 x 7 = 6.4."""
    vector = torch.tensor([1.0, -2.0], dtype=torch.float64)
    for kept in ((1, 1), (1, 4), (1, 7)):
        steps = (1, 7)
        reports = [
            Report(i, weight, steps[i], kept[i], kept[i] * vector) for i, weight in enumerate((10.0, 90.0))
        ]
        step = moved(CATALOGUE[name], torch.zeros_like(vector), reports, 1.0, epochs)
        torch.testing.assert_close(step, -6.4 * vector, rtol=1e-14, atol=0)


@matched
def test_the_matched_step_of_everything_is_the_plain_method_to_the_last_bit(name: str) -> None:
    method = CATALOGUE[name]
    whole = [report._replace(kept=report.steps) for report in fake_reports()]
    plain = Method(Everything(), method.correction, method.aggregation)
    ends = [moved(one, torch.ones(11, dtype=torch.float64), whole, 0.1, 2.0) for one in (method, plain)]
    assert torch.equal(ends[0], ends[1])


@pytest.mark.parametrize("prefix", ["bherd-", "random-", "reversed-", "grab-"])
@pytest.mark.parametrize("base", ["fedavg", "fednova", "scaffold"])
def test_with_one_step_a_client_the_matched_method_is_the_plain_one(prefix: str, base: str) -> None:
    """Ten samples, batches of ten: nothing can be left out, and nothing is made up for."""
    task = tiny_task("svm", [10, 10, 7])
    selected, plain = (
        federate(task, method, order=FixedOrder())
        for method in (named(prefix + base, 0.5, "matched"), methods.named(base))
    )
    assert torch.equal(selected.params, plain.params)


# --- against the oracle ----------------------------------------------------------------------


def oracle_of(
    name: str, task: Task, model: str, step: StepLength, epochs: float, reshuffle: bool
) -> Federation:
    """The named method in plain numpy, with the same data and the same random draws."""
    base = "fedavg" if name == "centralized" else name.rpartition("-")[2]
    prefix = name.removesuffix(base) if name != "centralized" else ""
    selector = {"": "everything", "bherd-": "herding"}.get(prefix, prefix.removesuffix("-"))
    labels = tiny_dataset().y_train

    def choose(round: int, client: int, steps: int) -> list[int]:
        order = stream(0, "select", round, client).permutation(steps)
        return [int(step) for step in order[: kept_count(0.4, steps)]]

    def visit(round: int, client: int) -> list[Labels]:
        draw = stream(0, "shuffle", round, client)
        return [draw.permutation(SIZES[client]) for _ in range(3)]

    rule = svm_loss_and_gradient if model == "svm" else logistic_loss_and_gradient
    outputs = 1 if model == "svm" else CLASSES
    return Federation(
        x=[task.samples(i)[0].numpy() for i in range(task.clients)],
        labels=[labels[order] for order in task.order],
        model=rule,
        w=np.zeros(outputs * 65),
        lr=0.05,
        batch=10,
        epochs=Fraction(epochs),
        base=base,
        selector=selector,
        alpha=Fraction(2, 5),
        step=step,
        choose=choose if selector == "random" else None,
        visit=visit if reshuffle else None,
    )


@every_method
@every_step
@pytest.mark.parametrize("engine", ["reference", "simulate"])
def test_every_method_is_the_plain_numpy_one(name: str, step: StepLength, engine: str) -> None:
    """Both linear models, several E, with and without reshuffling and with fewer clients."""
    for model, epochs, reshuffle, share in (
        ("svm", 1.0, False, 1.0),
        ("svm", 2.0, True, 0.67),
        ("logistic", 0.5, False, 0.67),
        ("logistic", 1.0, True, 1.0),
    ):
        task = tiny_task(model)
        method = named(name, 0.4, step)
        run = federate(
            task, method, engine=engine, epochs=epochs, order=ORDERS[reshuffle], cohort=share, rounds=3
        )
        oracle = oracle_of(name, task, model, step, epochs, reshuffle)
        for record in run.records:
            oracle.run_round([outcome.report.client for outcome in record.outcomes])
        np.testing.assert_allclose(run.params.numpy(), oracle.w, rtol=1e-10, atol=1e-13)
        assert np.abs(oracle.w).max() > 1e-3


@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_the_losses_are_the_plain_numpy_ones(model: str) -> None:
    task = tiny_task(model)
    data = tiny_dataset()
    rule = svm_loss_and_gradient if model == "svm" else logistic_loss_and_gradient
    for engine in ("reference", "simulate"):
        run = federate(task, methods.named("fedavg"), engine=engine, rounds=1)
        w = run.params.numpy()
        train, test, accuracy = run.losses[0]
        x, x_test = (v.reshape(len(v), -1).astype(np.float64) for v in (data.x_train, data.x_test))
        assert train == pytest.approx(rule(w, x, data.y_train)[0], rel=1e-12)
        assert test == pytest.approx(rule(w, x_test, data.y_test)[0], rel=1e-12)
        outputs = 1 if model == "svm" else CLASSES
        scores = x_test @ w[: outputs * 64].reshape(outputs, 64).T + w[outputs * 64 :]
        right = (
            (scores[:, 0] > 0) == (data.y_test % 2 == 0)
            if model == "svm"
            else scores.argmax(1) == data.y_test
        )
        assert accuracy == right.mean()
