"""Control variates in one dimension, by hand, and what absent clients do."""

import pytest
import torch
from torch import Tensor

from bherd import methods
from bherd.corrections import control_variates, no_correction
from bherd.loop.client import Training, client_round
from bherd.loop.rounds import participants
from bherd.streams import stream
from tests.tiny import federate, tiny_task


def one(value: float) -> Tensor:
    return torch.tensor([value], dtype=torch.float64)


def test_no_correction_changes_nothing_and_sends_nothing() -> None:
    correction = no_correction()
    assert not correction.stateful
    assert correction.offset(one(3.0), one(5.0)).tolist() == [0.0]
    assert correction.finish(one(3.0), one(5.0), one(7.0)) == (one(3.0), one(0.0))
    assert correction.combine(one(5.0), [one(1.0)], 4).tolist() == [5.0]


def test_the_three_formulas() -> None:
    correction = control_variates()
    assert correction.offset(one(3.0), one(5.0)).tolist() == [2.0]  # - c_i + c
    own, change = correction.finish(one(3.0), one(5.0), one(7.0))
    assert own.tolist() == [5.0]  # c_i - c + mean = 3 - 5 + 7
    assert change.tolist() == [2.0]
    # Two of four clients took part: c moves by (2 + 6) / 4.
    assert correction.combine(one(5.0), [one(2.0), one(6.0)], 4).tolist() == [7.0]


def test_the_client_trains_with_the_offset_and_reports_the_change() -> None:
    seen: list[float] = []

    def train(_params: Tensor, offset: Tensor | None, keep_trace: bool) -> Training:
        assert offset is not None
        assert keep_trace
        seen.append(float(offset))
        gradients = torch.tensor([[1.0], [3.0], [8.0]], dtype=torch.float64) + offset
        return Training(gradients, 3, 0.5)

    outcome = client_round(
        methods.bherd_scaffold(alpha=0.34),
        train,
        client=2,
        weight=9,
        params=one(0.0),
        own=one(3.0),
        shared=one(5.0),
        stream=stream(0, "select"),
    )
    # Corrected gradients 3, 5, 10, mean 6: the second is closest and alone is kept.
    assert seen == [2.0]
    assert outcome.kept.tolist() == [1]
    assert outcome.report.kept_sum.tolist() == [5.0]
    assert outcome.own.tolist() == [3.0]  # 3 - 5 + 5
    assert outcome.report.extra is not None
    assert outcome.report.extra.tolist() == [0.0]
    assert outcome.distance == pytest.approx(1.0)
    assert outcome.random_distance == pytest.approx((26 / 3) ** 0.5)  # of 3, 1 and 4 from the mean


def test_without_correction_no_extra_is_sent() -> None:
    run = federate(tiny_task("svm"), methods.fedavg(), rounds=1)
    assert all(outcome.report.extra is None for outcome in run.records[0].outcomes)
    assert run.state.shared.numel() == 0
    assert run.state.own == {}


def test_absent_clients_keep_their_state() -> None:
    task = tiny_task("svm")
    method = methods.scaffold()
    states = [
        federate(task, method, rounds=rounds, participation=1, reshuffle=False).state for rounds in (1, 2, 3)
    ]
    drawn = [participants(3, 1, 0, number).item() for number in (1, 2, 3)]
    assert len(set(drawn)) > 1
    assert set(states[-1].own) == set(drawn)
    for before, after, client in zip(states[:-1], states[1:], drawn[1:], strict=True):
        for other in before.own:
            if other != client:
                assert torch.equal(before.own[other], after.own[other])
        old = before.own.get(client, torch.zeros_like(before.shared))
        # c moves by the one change over all three clients
        torch.testing.assert_close(after.shared, before.shared + (after.own[client] - old) / 3)


def test_the_shared_state_is_the_mean_of_the_clients() -> None:
    """From zero, c = (1/N) sum c_i for ever, whoever takes part."""
    run = federate(tiny_task("svm"), methods.bherd_scaffold(0.5), rounds=4, participation=2)
    total = sum(run.state.own.values(), torch.zeros_like(run.state.shared))
    torch.testing.assert_close(run.state.shared, total / 3, rtol=1e-12, atol=1e-15)
    assert float(run.state.shared.abs().max()) > 1e-3
