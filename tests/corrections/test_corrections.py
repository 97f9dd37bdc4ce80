"""Control variates in one dimension, by hand, and what absent clients do."""

import pytest
import torch
from torch import Tensor

from bherd import methods
from bherd.corrections.control_variates import ControlVariates
from bherd.corrections.none import NoCorrection
from bherd.loop.client import Training, begin_round, finish_round
from bherd.loop.state import Local, State
from bherd.orders.fixed import FixedOrder
from bherd.parts.records import Done, Terms
from tests.tiny import federate, tiny_task


def one(value: float) -> Tensor:
    return torch.tensor([value], dtype=torch.float64)


def test_no_correction_changes_nothing_and_sends_nothing() -> None:
    correction = NoCorrection()
    assert not correction.stateful
    assert correction.server_init(one(3.0)) == correction.client_init(one(3.0)) == {}
    assert correction.terms({}, {}) == Terms(None, 0.0)
    assert correction.client_end({}, {}, Done(one(7.0), 3, 0.1)) == ({}, {})
    assert correction.server_end({}, [{}], 4) == ({}, None)


def test_the_three_formulas() -> None:
    correction = ControlVariates()
    terms = correction.terms({"c": one(3.0)}, {"c": one(5.0)})
    assert terms.offset is not None
    assert terms.offset.tolist() == [2.0]  # - c_i + c
    assert terms.pull == 0
    own, message = correction.client_end({"c": one(3.0)}, {"c": one(5.0)}, Done(one(7.0), 3, 0.1))
    assert own["c"].tolist() == [5.0]  # c_i - c + mean = 3 - 5 + 7
    assert message["change"].tolist() == [2.0]
    # Two of four clients took part: c moves by (2 + 6) / 4.
    server, shift = correction.server_end({"c": one(5.0)}, [{"change": one(2.0)}, {"change": one(6.0)}], 4)
    assert server["c"].tolist() == [7.0]
    assert shift is None


def test_the_client_trains_with_the_offset_and_reports_the_change() -> None:
    method, local = methods.named("bherd-scaffold", alpha=0.34), Local(3, 1.0, 0.1, 0)
    memory = {"correction": {"c": one(5.0)}}
    state = State(0, one(0.0), None, memory, {2: {"correction": {"c": one(3.0)}}})
    work = begin_round(method, local, state, client=2, samples=9)
    assert work.keep_trace
    assert work.plan.steps == 3
    assert work.terms.offset is not None
    assert work.terms.offset.tolist() == [2.0]
    gradients = torch.tensor([[1.0], [3.0], [8.0]], dtype=torch.float64) + work.terms.offset
    outcome = finish_round(work, Training(gradients, 0.5), local, state.server)
    # Corrected gradients 3, 5, 10, mean 6: the second is closest and alone is kept.
    assert outcome.kept.tolist() == [1]
    assert outcome.report.update.tolist() == [5.0]
    assert outcome.memory["correction"]["c"].tolist() == [3.0]  # 3 - 5 + 5
    assert outcome.report.message["change"].tolist() == [0.0]
    assert outcome.distance == pytest.approx(1.0)
    assert outcome.random_distance == pytest.approx((26 / 3) ** 0.5)  # of 3, 1 and 4 from the mean


def test_without_correction_no_message_is_sent() -> None:
    run = federate(tiny_task("svm"), methods.named("fedavg"), rounds=1)
    assert all(outcome.report.message == {} for outcome in run.records[0].outcomes)
    assert run.state.server == {}
    assert run.state.clients == {}


def control(state: State, client: int | None = None) -> Tensor:
    """The server's control variate, or a client's: zero before its first round."""
    if client is None:
        return state.server["correction"]["c"]
    if client not in state.clients:
        return torch.zeros_like(state.params)
    return state.clients[client]["correction"]["c"]


def test_absent_clients_keep_their_state() -> None:
    task = tiny_task("svm")
    run = federate(task, methods.named("scaffold"), rounds=3, cohort=1, order=FixedOrder())
    states = [
        federate(task, methods.named("scaffold"), rounds=rounds, cohort=1, order=FixedOrder()).state
        for rounds in (1, 2, 3)
    ]
    drawn = [record.outcomes[0].report.client for record in run.records]
    assert len(set(drawn)) > 1
    assert set(states[-1].clients) == set(drawn)
    for before, after, client in zip(states[:-1], states[1:], drawn[1:], strict=True):
        for other in before.clients:
            if other != client:
                assert torch.equal(control(before, other), control(after, other))
        # c moves by the one change over all three clients
        change = control(after, client) - control(before, client)
        torch.testing.assert_close(control(after), control(before) + change / 3)


def test_the_servers_control_is_the_mean_of_the_clients() -> None:
    """From zero, c = (1/N) sum c_i for ever, whoever takes part."""
    run = federate(tiny_task("svm"), methods.named("bherd-scaffold", alpha=0.5), rounds=4, cohort=2)
    total = sum((control(run.state, client) for client in range(3)), torch.zeros_like(run.params))
    torch.testing.assert_close(control(run.state), total / 3, rtol=1e-12, atol=1e-15)
    assert float(control(run.state).abs().max()) > 1e-3
