"""Corrections: by hand, against autograd, and on quadratic federations whose optima are known."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from bherd.aggregations.average import Average
from bherd.corrections.base import Correction
from bherd.corrections.control_variates import ControlVariates
from bherd.corrections.dynamic import Dynamic
from bherd.corrections.none import NoCorrection
from bherd.corrections.proximal import Proximal
from bherd.errors import InputError
from bherd.optimizers.sgd import LocalSgd
from bherd.parts.part import Tensors
from bherd.parts.records import Done, Step, Update
from bherd.servers.sgd import ServerSgd

ALL = [NoCorrection(), ControlVariates(), Proximal(), Dynamic()]
# Four clients with the losses sum of a_ij (w_j - b_ij)^2 / 2.
A = torch.tensor([[1.0, 0.5], [2.0, 1.0], [0.3, 3.0], [1.0, 1.0]], dtype=torch.float64)
B = torch.tensor([[1.0, -2.0], [0.0, 4.0], [5.0, 1.0], [-3.0, 0.5]], dtype=torch.float64)
EQUAL = (0.25, 0.25, 0.25, 0.25)
LR = 0.1


def optimum(weights: Tensor) -> Tensor:
    """Where sum of weights_ij (w_j - b_ij) is zero."""
    return (weights * B).sum(0) / weights.sum(0)


def federate(
    correction: Correction,
    rounds: int,
    steps: int,
    shares: Sequence[float] = EQUAL,
    present: int = 4,
) -> Tensor:
    """The server's model after some rounds of full-gradient steps, `present` clients in turn."""
    params = torch.zeros(2, dtype=torch.float64)
    server: Tensors = correction.server_init(params)
    clients: list[Tensors] = [correction.client_init(params) for _ in range(4)]
    optimizer = LocalSgd()
    for number in range(rounds):
        messages, updates = [], []
        asked = sorted((number * present + i) % 4 for i in range(present))
        for i in asked:
            offset, pull = correction.terms(clients[i], server)
            w, total = params, torch.zeros_like(params)
            for _ in range(steps):
                gradient = A[i] * (w - B[i]) + pull * (w - params)
                direction, _ = optimizer.direction({}, gradient if offset is None else gradient + offset, w)
                w, total = w - LR * direction, total + direction
            done = Done(total / steps, steps, LR)
            torch.testing.assert_close(done.moved, w - params, rtol=0, atol=1e-9)
            clients[i], message = correction.client_end(clients[i], server, done)
            messages.append(message)
            share = shares[i] / sum(shares[j] for j in asked)
            updates.append(Update(total, share, 1.0, share))
        step = Step(Average().combine(updates), LR, lambda: 0.0)
        params, _ = ServerSgd().update({}, params, step)
        server, shift = correction.server_end(server, messages, clients=4)
        params = params if shift is None else params + shift
    return params


@pytest.mark.parametrize("steps", [1, 5, 40])
@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_dynamic_comes_to_the_optimum_of_the_mean_loss(steps: int, mu: float) -> None:
    found = federate(Dynamic(mu), rounds=400, steps=steps)
    torch.testing.assert_close(found, optimum(A), rtol=0, atol=1e-9)


def test_dynamic_comes_to_the_optimum_with_some_clients_absent() -> None:
    found = federate(Dynamic(1.0), rounds=500, steps=20, present=2)
    torch.testing.assert_close(found, optimum(A), rtol=0, atol=1e-9)


def test_dynamic_counts_every_client_once_whatever_its_share() -> None:
    found = federate(Dynamic(1.0), rounds=400, steps=20, shares=(0.1, 0.2, 0.3, 0.4))
    torch.testing.assert_close(found, optimum(A), rtol=0, atol=1e-9)


def test_the_memories_of_dynamic_become_the_gradients_at_the_optimum() -> None:
    part, at = Dynamic(0.5), optimum(A)
    for i in range(4):
        h = A[i] * (at - B[i])
        offset, pull = part.terms({"h": h}, {})
        assert offset is not None
        torch.testing.assert_close(A[i] * (at - B[i]) + offset + pull * (at - at), torch.zeros_like(at))
    # They sum to zero, as the server's memory, their mean, must be for its shift to vanish.
    torch.testing.assert_close((A * (at - B)).sum(0), torch.zeros_like(at))


@pytest.mark.parametrize("present", [2, 4])
def test_control_variates_come_to_the_optimum_of_the_mean_loss(present: int) -> None:
    found = federate(ControlVariates(), rounds=500, steps=5, present=present)
    torch.testing.assert_close(found, optimum(A), rtol=0, atol=1e-8)


@pytest.mark.parametrize("mu", [0.0, 0.1, 1.0, 10.0])
def test_proximal_comes_to_its_known_bias(mu: float) -> None:
    # A client's own minimum is v = (a b + mu w) / (a + mu). Each step brings it nearer to v by the factor
    # 1 - lr (a + mu), so that it moves by (1 - factor^steps) (v - w), and v - w = a / (a + mu) (b - w).
    steps = 10
    found = federate(Proximal(mu), rounds=300, steps=steps)
    biased = optimum((1 - (1 - LR * (A + mu)) ** steps) * A / (A + mu))
    torch.testing.assert_close(found, biased, rtol=0, atol=1e-8)
    assert (biased - optimum(A)).norm() > 1e-3


def test_without_correction_the_bias_is_that_of_no_pull() -> None:
    plain = federate(NoCorrection(), rounds=50, steps=20)
    assert torch.equal(plain, federate(Proximal(0.0), rounds=50, steps=20))
    assert (plain - optimum(A)).norm() > 1e-2


def test_proximal_is_the_gradient_of_the_penalty() -> None:
    start = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    for mu in (0.01, 0.5, 3.0):
        offset, pull = Proximal(mu).terms({}, {})
        assert offset is None
        theirs = ours = start
        for step in range(6):
            leaf = theirs.clone().requires_grad_()
            loss = (leaf.exp().sum() + step * leaf.square().sum()) + mu / 2 * (leaf - start).square().sum()
            theirs = theirs - 0.05 * torch.autograd.grad(loss, leaf)[0]
            leaf = ours.clone().requires_grad_()
            (gradient,) = torch.autograd.grad(leaf.exp().sum() + step * leaf.square().sum(), leaf)
            ours = ours - 0.05 * (gradient + pull * (ours - start))
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def one(value: float) -> Tensor:
    return torch.tensor([value], dtype=torch.float64)


def test_control_variates_by_hand() -> None:
    part = ControlVariates()
    client, server = {"c": one(3.0)}, {"c": one(5.0)}
    offset, pull = part.terms(client, server)
    assert offset is not None
    assert (offset.item(), pull) == (2.0, 0.0)  # - c_i + c
    own, message = part.client_end(client, server, Done(one(7.0), 4, 0.1))
    assert own["c"].item() == 5.0  # c_i - c + mean = 3 - 5 + 7
    assert message["change"].item() == 2.0
    # Two of four clients took part: c moves by (2 + 6) / 4.
    shared, shift = part.server_end(server, [{"change": one(2.0)}, {"change": one(6.0)}], 4)
    assert shared["c"].item() == 7.0
    assert shift is None


def test_dynamic_by_hand() -> None:
    part = Dynamic(mu=0.5)
    offset, pull = part.terms({"h": one(3.0)}, {"h": one(9.0)})
    assert offset is not None
    assert (offset.item(), pull) == (-3.0, 0.5)
    # Four steps of 0.25 along 6: it moved by -6.
    own, message = part.client_end({"h": one(3.0)}, {"h": one(9.0)}, Done(one(6.0), 4, 0.25))
    assert (own["h"].item(), message["moved"].item()) == (6.0, -6.0)
    shared, shift = part.server_end({"h": one(1.0)}, [{"moved": one(-6.0)}, {"moved": one(2.0)}], 4)
    assert shared["h"].item() == 1.5  # 1 - 0.5 / 4 * (-4)
    assert shift is not None
    assert shift.item() == -3.0


def test_without_memory_nothing_is_stored_or_sent() -> None:
    assert [part.stateful for part in ALL] == [False, True, False, True]
    assert NoCorrection().terms({}, {}) == (None, 0.0)
    for part in (NoCorrection(), Proximal()):
        assert part.server_init(one(1.0)) == part.client_init(one(1.0)) == {}
        assert part.client_end({}, {}, Done(one(1.0), 1, 0.1)) == ({}, {})
        assert part.server_end({}, [{}], 1) == ({}, None)


@pytest.mark.parametrize("part", ALL, ids=str)
def test_nothing_is_changed_in_place(part: Correction) -> None:
    mean, params = one(2.0), one(1.0)
    client, server = part.client_init(params), part.server_init(params)
    part.terms(client, server)
    _, message = part.client_end(client, server, Done(mean, 3, 0.1))
    sent = {name: tensor.clone() for name, tensor in message.items()}
    part.server_end(server, [message, message], 2)
    assert all(tensor.item() == 0 for state in (client, server) for tensor in state.values())
    assert all(torch.equal(message[name], sent[name]) for name in sent)
    assert (mean.item(), params.item()) == (2.0, 1.0)


def test_the_numbers_are_checked() -> None:
    for wrong in (lambda: Proximal(-0.1), lambda: Dynamic(0.0), lambda: Dynamic(-1.0)):
        with pytest.raises(InputError, match=r"mu = .* Try"):
            wrong()
