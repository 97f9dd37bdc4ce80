"""What holds for every correction x selector x server x step length, and for every named method."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import Tensor

from bherd import methods
from bherd.aggregations.average import Average
from bherd.aggregations.nova import Nova
from bherd.algorithms.share import kept_count
from bherd.corrections.base import Correction
from bherd.corrections.control_variates import ControlVariates
from bherd.corrections.none import NoCorrection
from bherd.engines import ReferenceEngine
from bherd.loop.client import Outcome
from bherd.loop.rounds import run_rounds
from bherd.loop.server import aggregate
from bherd.loop.state import Local, RunPlan, State, start_state
from bherd.method import (
    Method,
    Server,  # XXX
)
from bherd.parts.presets import PRESETS
from bherd.parts.records import STEP_LENGTHS, Report, StepLength
from bherd.selectors.base import Selector
from bherd.selectors.everything import Everything
from bherd.selectors.grab import Grab
from bherd.selectors.herding import Herding
from bherd.selectors.random import RandomShare
from bherd.streams import stream
from bherd.tasks.task import Task
from tests.oracle import Federation, Labels, logistic_loss_and_gradient, svm_loss_and_gradient
from tests.tiny import CATALOGUE, CLASSES, SIZES, federate, named, tiny_dataset, tiny_task

every_combination = pytest.mark.parametrize("name", CATALOGUE)
every_method = pytest.mark.parametrize("name", PRESETS)
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


@every_combination
@pytest.mark.parametrize("engine", ["reference", "simulate"])
def test_zero_gradients_leave_everything_fixed(name: str, engine: str) -> None:
    task = constant_loss(tiny_task("svm"))
    before = torch.cat([p.detach().reshape(-1) for p in task.model.module.parameters()])
    assert float(before.abs().max()) > 0
    run = federate(task, CATALOGUE[name], engine=engine, rounds=2)
    assert torch.equal(run.params, before)
    assert not run.state.shared.any()
    assert not any(own.any() for own in run.state.own.values())


@pytest.mark.parametrize("correction", [NoCorrection(), ControlVariates()], ids=["none", "scaffold"])
@pytest.mark.parametrize("rule", [Average, Nova], ids=["average", "nova"])
@every_step
@pytest.mark.parametrize("engine", ["reference", "simulate"])
def test_herding_of_all_gradients_is_everything(
    correction: Correction, rule: Callable[[StepLength], Server], step: StepLength, engine: str
) -> None:
    task = tiny_task("logistic")
    herded = federate(task, Method(correction, Herding(1.0), rule(step)), engine=engine)
    plain = federate(task, Method(correction, Everything(), rule(step)), engine=engine)
    torch.testing.assert_close(herded.params, plain.params, rtol=1e-12, atol=1e-14)
    assert [sorted(kept) for kept in herded.kept] == plain.kept


@pytest.mark.parametrize("correction", [NoCorrection(), ControlVariates()], ids=["none", "scaffold"])
@pytest.mark.parametrize(
    "selector", [Everything(), Herding(0.5), RandomShare(0.25)], ids=["everything", "herding", "random"]
)
@every_step
@pytest.mark.parametrize("epochs", [1.0, 2.0])
def test_nova_is_average_where_all_take_equal_steps(
    correction: Correction, selector: Selector, step: StepLength, epochs: float
) -> None:
    """Forty samples each, four steps an epoch: alpha tau is a whole number, so the nominal is the real."""
    task = tiny_task("svm", [40, 40, 40])
    runs = [
        federate(task, Method(correction, selector, rule(step)), epochs=epochs) for rule in (Average, Nova)
    ]
    assert len({outcome.report.steps for outcome in runs[0].records[0].outcomes}) == 1
    torch.testing.assert_close(runs[0].params, runs[1].params, rtol=1e-11, atol=1e-14)


def test_nova_is_not_average_where_steps_differ() -> None:
    task = tiny_task("svm")
    first, second = (federate(task, Method(NoCorrection(), Everything(), r())) for r in (Average, Nova))
    assert not torch.allclose(first.params, second.params, rtol=1e-3, atol=0)


def test_grab_under_nova_is_average_where_kept_counts_are_equal_too() -> None:
    reports = [Report(i, 10.0 + i, 4, 2, torch.full((3,), 1.0 + i)) for i in range(3)]
    for step in STEP_LENGTHS:
        one, other = (
            aggregate(
                Method(NoCorrection(), Grab(), rule(step)), torch.zeros(3), reports, local_lr=0.1, epochs=2.0
            )
            for rule in (Average, Nova)
        )
        torch.testing.assert_close(one, other)


@every_combination
def test_the_order_of_reports_does_not_matter(name: str) -> None:
    method = CATALOGUE[name]
    params = torch.linspace(-1, 1, 11, dtype=torch.float64)
    results = [
        aggregate(method, params, reports, local_lr=0.1, epochs=2.0)
        for reports in itertools.permutations(fake_reports())
    ]
    assert len(results) == 24
    assert all(torch.equal(result, results[0]) for result in results)


class Backwards(ReferenceEngine):
    """An engine whose clients report in the reverse order, as those of a network may."""

    def run_clients(self, state: State, clients: Sequence[int]) -> list[Outcome]:
        return super().run_clients(state, clients)[::-1]


@every_combination
def test_the_order_of_arrival_does_not_matter(name: str) -> None:
    """Bit by bit, after several rounds, with the state of the correction."""
    task, method = tiny_task("svm"), CATALOGUE[name]
    local, schedule = Local(10, 1.0, 0.05, 0), RunPlan(3, 1.0, 1.0, 0.05, 0)
    ends = []
    for kind in (ReferenceEngine, Backwards):
        *_, (state, _) = run_rounds(kind(task, method, local), task, method, plan, start_state(task, method))
        ends.append(state)
    assert torch.equal(ends[0].params, ends[1].params)
    assert torch.equal(ends[0].shared, ends[1].shared)


@every_combination
def test_server_lr_multiplies_the_step(name: str) -> None:
    method = CATALOGUE[name]
    params, reports = torch.zeros(11, dtype=torch.float64), fake_reports()
    once = aggregate(method, params, reports, local_lr=0.1, epochs=1.0)
    longer = replace(method, server=replace(method.server, server_lr=3.0))
    torch.testing.assert_close(aggregate(longer, params, reports, local_lr=0.1, epochs=1.0), 3 * once)


@every_combination
def test_amplified_is_longer_by_one_over_alpha(name: str) -> None:
    """With the nominal alpha, or GraB's measured one, equal to every client's kept / steps."""
    method, params = CATALOGUE[name], torch.zeros(3, dtype=torch.float64)
    share = 1.0 if method.selector.keeps_all else 0.5
    reports = [Report(i, 1.0 + i, 4, int(4 * share), torch.ones(3, dtype=torch.float64)) for i in range(3)]
    rule = {"average": Average, "nova": nova}[method.server.name]
    steps = [
        aggregate(replace(method, server=rule(step)), params, reports, local_lr=0.1, epochs=1.0)
        for step in STEP_LENGTHS
    ]
    torch.testing.assert_close(steps[1], steps[0] / share)


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
        step = aggregate(CATALOGUE[name], torch.zeros_like(vector), reports, local_lr=1.0, epochs=epochs)
        torch.testing.assert_close(step, -6.4 * vector, rtol=1e-14, atol=0)


@matched
def test_the_matched_step_of_everything_is_the_plain_method_to_the_last_bit(name: str) -> None:
    method = CATALOGUE[name]
    whole = [report._replace(kept=report.steps) for report in fake_reports()]
    rule = {"average": Average, "nova": nova}[method.server.name]
    plain = Method(method.correction, Everything(), rule())
    ends = [
        aggregate(one, torch.ones(11, dtype=torch.float64), whole, local_lr=0.1, epochs=2.0)
        for one in (method, plain)
    ]
    assert torch.equal(ends[0], ends[1])


@pytest.mark.parametrize("prefix", ["bherd-", "random-", "reversed-", "grab-"])
@pytest.mark.parametrize("base", ["fedavg", "fednova", "scaffold"])
def test_with_one_step_a_client_the_matched_method_is_the_plain_one(prefix: str, base: str) -> None:
    """Ten samples, batches of ten: nothing can be left out, and nothing is made up for."""
    task = tiny_task("svm", [10, 10, 7])
    selecting = federate(task, named(prefix + base, 0.5, "matched"))
    assert torch.equal(selecting.params, federate(task, methods.named(base)).params)


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
    """Both linear models, several E, with and without reshuffling and partial participation."""
    for model, epochs, reshuffle, share in (
        ("svm", 1.0, False, 1.0),
        ("svm", 2.0, True, 0.67),
        ("logistic", 0.5, False, 0.67),
        ("logistic", 1.0, True, 1.0),
    ):
        task = tiny_task(model)
        method = named(name, 0.4, step)
        run = federate(
            task, method, engine=engine, epochs=epochs, reshuffle=reshuffle, cohort=share, rounds=3
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
