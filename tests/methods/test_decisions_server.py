"""Decisions 7 to 11 on what the paper leaves open (the server's step and its state), by hand."""

import pytest
import torch

import bherd
from bherd import methods
from bherd.engines import ReferenceEngine
from bherd.loop.client import Training, begin_round, finish_round
from bherd.loop.server import aggregate, server_round
from bherd.loop.state import Local, RunPlan, State, start_memory, start_state
from bherd.method import Method
from bherd.orders.fixed import FixedOrder
from bherd.parts.records import Report
from tests.tiny import federate, tiny_task


def step_of(method: Method, reports: list[Report], epochs: float) -> float:
    """How far one parameter at 0 moves with local_lr = 1, turned round."""
    memory = method.server.init(torch.zeros(1))
    params, _ = aggregate(method, memory, torch.zeros(1), reports, local_lr=1.0, epochs=epochs)
    return -float(params)


# Shares 1/4 and 3/4, steps 4 and 8, kept 2 and 4 with sums 6 and 4.
HALVES = [Report(0, 10, 4, 2, torch.tensor([6.0])), Report(1, 30, 8, 4, torch.tensor([4.0]))]


def test_decision_7_fednova() -> None:
    """d = 3 and 1, sum p d = 1.5, tau_eff = 1 + 6 = 7: a step of 10.5; everything kept or not."""
    assert step_of(methods.named("fednova"), HALVES, epochs=2.0) == 10.5
    assert step_of(methods.named("bherd-fednova", alpha=0.5), HALVES, epochs=1.0) == 10.5
    assert step_of(methods.named("bherd-fednova", alpha=0.5, step="amplified"), HALVES, epochs=1.0) == 21.0


class TestDecision8Scaffold:
    """Gradients less c_i plus c; herding sees them; c_i from the kept; c over all N clients."""

    def test_decision_8_two_rounds_of_two_clients(self) -> None:
        """Gradients of client 0 are 2 and 4, of client 1 they are -2 and 0, wherever the model is."""
        raw = {0: torch.tensor([[2.0], [4.0]]), 1: torch.tensor([[-2.0], [0.0]])}
        method, local, plan = methods.named("scaffold"), Local(1, 1.0, 0.1, 0), RunPlan(2, 1.0, 1.0, 0.1, 0)
        state = State(0, torch.zeros(1), None, start_memory(method, torch.zeros(1), 2), {})
        history = []
        for _ in range(2):
            outcomes = []
            for client in (0, 1):
                work = begin_round(method, local, state, client, samples=2)
                assert work.terms.offset is not None
                trained = Training(raw[client] + work.terms.offset, 1.0)
                outcomes.append(finish_round(work, trained, local, state.server))
            state = server_round(method, plan, 2, state, outcomes)
            history.append(
                (
                    [o.report.update.item() for o in outcomes],
                    [state.clients[i]["correction"]["c"].item() for i in (0, 1)],
                    state.server["correction"]["c"].item(),
                )
            )
        # Round 1: sums 6 and -2, c_i = 3 and -1, c = 1. Round 2: gradients 2 - 3 + 1 = 0 and 2, and
        # -2 + 1 + 1 = 0 and 2; c_i = 3 - 1 + 1 = 3 and -1 - 1 + 1 = -1; c = 1.
        assert history == [([6.0, -2.0], [3.0, -1.0], 1.0), ([2.0, 2.0], [3.0, -1.0], 1.0)]

    def test_decision_8_starts_at_zero(self) -> None:
        task = tiny_task("svm")
        state = start_state(task, methods.named("scaffold"))
        assert state.clients == {}
        assert not state.server["correction"]["c"].any()
        local = Local(10, 1.0, 0.05, 0)
        first, plain = (
            ReferenceEngine(task, methods.named(name), local).run_clients(state, [0])[0].report.update
            for name in ("scaffold", "fedavg")
        )
        assert torch.equal(first, plain)


class TestDecision9FactorEOverAlpha:
    """E / alpha is BHerd's and its control's, by the nominal alpha; the others have no E."""

    @pytest.mark.parametrize(
        ("method", "step"),
        [
            # sum p g = 1/4 x 6 + 3/4 x 4 = 4.5
            (methods.named("fedavg"), 4.5),
            (methods.named("scaffold"), 4.5),
            (methods.named("fedavg", server_lr=2.0), 9.0),
            # E = 3, nominal alpha = 0.4 though half is kept: 3 / 0.4 x 4.5
            (methods.named("bherd-fedavg", alpha=0.4), 33.75),
            (methods.named("random-fedavg", alpha=0.4), 33.75),
            (methods.named("bherd-scaffold", alpha=0.4), 33.75),
            (methods.named("random-scaffold", alpha=0.4), 33.75),
            # amplified: tau / k = 2 for both on top
            (methods.named("bherd-fedavg", alpha=0.4, step="amplified"), 67.5),
            (methods.named("random-fedavg", alpha=0.4, step="amplified"), 67.5),
            (methods.named("bherd-fedavg", alpha=0.4, step="amplified", server_lr=0.5), 33.75),
            # fednova: tau_eff sum p d = 10.5, times E
            (methods.named("fednova"), 10.5),
            (methods.named("bherd-fednova", alpha=0.4), 31.5),
            (methods.named("random-fednova", alpha=0.4), 31.5),
            (methods.named("bherd-fednova", alpha=0.4, step="amplified"), 78.75),
            # GraB: alpha_t = 1/4 x 1/2 + 3/4 x 1/2 = 1/2, no E
            (methods.named("grab-fedavg"), 9.0),
            (methods.named("grab-fedavg", step="amplified"), 18.0),
            (methods.named("grab-scaffold"), 9.0),
            (methods.named("grab-fednova"), 10.5),
            (methods.named("grab-fednova", step="amplified"), 21.0),
        ],
    )
    def test_decision_9_steps(self, method: Method, step: float) -> None:
        assert step_of(method, HALVES, epochs=3.0) == pytest.approx(step, rel=1e-6)

    def test_decision_9_fedavg_at_the_amplified_step_is_its_server_lr(self) -> None:
        """Everything kept: (1/alpha) sum p g, the control of every comparison."""
        full = [r._replace(kept=r.steps) for r in HALVES]
        assert step_of(methods.named("fedavg", server_lr=1 / 0.25), full, epochs=1.0) == 18.0


class TestDecision10GrabKeepsOne:
    """Where no gradient has the sign plus, the whole sum counts, with alpha_i = 1."""

    def test_decision_10_all_minus(self) -> None:
        """Gradients 1 and -1: z = 1/2, s = -1/2; mu = 0, z = -1, <s, z> = 1/2: minus twice."""
        assert bherd.grab([[1.0], [-1.0]]).tolist() == [0, 1]

    def test_decision_10_counts_as_everything(self) -> None:
        task = tiny_task("svm", [10, 10])  # one step a client: no plus for anybody
        ends = [
            federate(task, methods.named(name), engine="reference", rounds=1, order=FixedOrder()).params
            for name in ("grab-fedavg", "fedavg")
        ]
        assert torch.equal(ends[0], ends[1])


class TestDecision11SmallClients:
    """One step of client 0, four of client 1, shares 1/4 and 3/4, alpha = 0.5; every gradient is 1."""

    SMALL = (Report(0, 10, 1, 1, torch.tensor([1.0])), Report(1, 30, 4, 2, torch.tensor([2.0])))

    @pytest.mark.parametrize(
        ("method", "step"),
        [
            # FedAvg would go 1/4 x 1 + 3/4 x 4 = 3.25; client 0 cannot leave anything out, so the
            # equation's 1/alpha doubles what it sends: 2 (1/4 x 1 + 3/4 x 2) = 3.5
            (methods.named("bherd-fedavg", alpha=0.5), 3.5),
            (methods.named("bherd-fedavg", alpha=0.5, step="matched"), 3.25),
            (methods.named("bherd-scaffold", alpha=0.5, step="matched"), 3.25),
            (methods.named("random-fedavg", alpha=0.5, step="matched"), 3.25),
            (methods.named("bherd-fedavg", alpha=0.5, step="amplified"), 6.5),
            (methods.named("bherd-fedavg", alpha=0.5, step="matched", server_lr=2.0), 6.5),
            # GraB's alpha_t = 1/4 x 1 + 3/4 x 1/2 = 0.625: 1.75 / 0.625
            (methods.named("grab-fedavg"), 2.8),
            (methods.named("grab-fedavg", step="matched"), 3.25),
            # tau_eff = 3.25, means of 1
            (methods.named("bherd-fednova", alpha=0.5), 3.25),
            (methods.named("bherd-fednova", alpha=0.5, step="matched"), 3.25),
        ],
    )
    def test_decision_11_steps(self, method: Method, step: float) -> None:
        assert step_of(method, list(self.SMALL), epochs=1.0) == pytest.approx(step, rel=1e-6)

    def test_decision_11_matched_has_no_factor_e(self) -> None:
        for method in (
            methods.named("bherd-fedavg", alpha=0.5, step="matched"),
            methods.named("bherd-fednova", alpha=0.5, step="matched"),
        ):
            assert step_of(method, list(self.SMALL), epochs=3.0) == pytest.approx(3.25, rel=1e-6)
