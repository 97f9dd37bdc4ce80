"""Server optimizers: against Flower's strategies, and by hand."""

import copy

import pytest
import torch
from flwr.serverapp.strategy import FedAdagrad, FedAdam, FedAvg, FedAvgM, FedYogi
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from bherd.errors import InputError
from bherd.parts.part import Part
from bherd.parts.records import Step
from bherd.servers.adagrad import ServerAdagrad
from bherd.servers.adam import ServerAdam
from bherd.servers.base import ServerOptimizer
from bherd.servers.extrapolation import Extrapolation
from bherd.servers.momentum import ServerMomentum
from bherd.servers.sgd import ServerSgd
from bherd.servers.yogi import ServerYogi
from tests.parts.flower_strategies import flower_rounds

LOCAL_LR = 0.3
SAMPLES = [10, 30, 60]
ALL = [ServerSgd(), ServerMomentum(), ServerAdam(), ServerYogi(), ServerAdagrad(), Extrapolation()]


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def a_step(direction: Tensor, local_lr: float = LOCAL_LR, mean_square: float = 0.0) -> Step:
    return Step(direction, local_lr, lambda: mean_square)


def random_updates(rounds: int = 6, scale: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return scale * torch.randn((rounds, len(SAMPLES), 7), generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("scale", [1.0, 0.01])
@pytest.mark.parametrize(
    ("part", "strategy"),
    [
        (ServerSgd(), FedAvg(fraction_train=0.0)),
        (ServerSgd(0.7), FedAvgM(fraction_train=0.0, server_learning_rate=0.7)),
        (ServerMomentum(), FedAvgM(fraction_train=0.0, server_momentum=0.9)),
        (
            ServerMomentum(0.4, 0.5),
            FedAvgM(fraction_train=0.0, server_learning_rate=0.4, server_momentum=0.5),
        ),
        (ServerAdam(), FedAdam(fraction_train=0.0)),
        (
            ServerAdam(0.03, 0.5, 0.8, 0.1),
            FedAdam(fraction_train=0.0, eta=0.03, beta_1=0.5, beta_2=0.8, tau=0.1),
        ),
        (ServerYogi(), FedYogi(fraction_train=0.0, eta=0.1)),
        (
            ServerYogi(0.03, 0.5, 0.8, 0.1),
            FedYogi(fraction_train=0.0, eta=0.03, beta_1=0.5, beta_2=0.8, tau=0.1),
        ),
        (ServerAdagrad(), FedAdagrad(fraction_train=0.0)),
        (ServerAdagrad(lr=0.5, tau=0.1), FedAdagrad(fraction_train=0.0, eta=0.5, tau=0.1)),
    ],
    ids=lambda value: str(value) if isinstance(value, Part) else type(value).__name__,
)
def test_it_moves_as_flower_does(part: ServerOptimizer, strategy: FedAvg, scale: float) -> None:
    fresh = copy.deepcopy(strategy)  # it keeps its memory, so each scale has one of its own
    updates, start = random_updates(scale=scale), torch.linspace(-1, 1, 7, dtype=torch.float64)
    expected = flower_rounds(fresh, start, list(LOCAL_LR * updates), SAMPLES)
    shares = torch.tensor(SAMPLES, dtype=torch.float64) / sum(SAMPLES)
    params, state = start, part.init(start)
    for of_round, model in zip(updates, expected, strict=True):
        params, state = part.update(state, params, a_step(shares @ of_round))
        torch.testing.assert_close(params, model, rtol=0, atol=1e-9)


def test_plain_steps_are_computed_in_one_order() -> None:
    params, direction = torch.tensor([0.1, 0.7]), torch.tensor([0.3, -0.9])
    moved, state = ServerSgd(0.7).update({}, params, a_step(direction, 0.1))
    assert torch.equal(moved, params - 0.1 * 0.7 * direction)
    assert state == {}


def test_momentum_by_hand() -> None:
    part = ServerMomentum(lr=2.0, beta=0.5)
    params, state = part.update(part.init(vector(10.0)), vector(10.0), a_step(vector(4.0), 0.5))
    assert (params.item(), state["v"].item()) == (6.0, 2.0)  # 10 - 2 * 2
    params, state = part.update(state, params, a_step(vector(2.0), 0.5))
    assert (params.item(), state["v"].item()) == (2.0, 2.0)  # v = 0.5 * 2 + 1, 6 - 2 * 2


def test_adam_without_memory_is_the_sign_of_the_direction() -> None:
    part = ServerAdam(lr=0.5, beta1=0.0, beta2=0.0, tau=1.0)
    params, _ = part.update(part.init(vector(0, 0)), vector(0, 0), a_step(vector(6, -2), 0.5))
    torch.testing.assert_close(params, vector(-0.5 * 3 / 4, 0.5 * 1 / 2))


def test_yogi_lets_the_mean_square_fall_by_its_new_entry_only() -> None:
    part = ServerYogi(lr=1.0, beta1=0.0, beta2=0.75, tau=1.0)
    state = {"m": vector(0.0), "v": vector(9.0)}
    params, state = dict_of(part.update(state, vector(0.0), a_step(vector(2.0), 1.0)))
    assert state["v"].item() == 8.0  # 9 - 0.25 * 4
    assert params.item() == pytest.approx(-2 / (8**0.5 + 1))


def test_adagrad_sums_the_squares() -> None:
    part = ServerAdagrad(lr=1.0, tau=1.0)
    params, state = dict_of(part.update(part.init(vector(0.0)), vector(0.0), a_step(vector(3.0), 1.0)))
    assert (params.item(), state["v"].item()) == (-0.75, 9.0)
    params, state = dict_of(part.update(state, vector(0.0), a_step(vector(4.0), 1.0)))
    assert (params.item(), state["v"].item()) == (-4 / 6, 25.0)


def dict_of(pair: tuple[Tensor, object]) -> tuple[Tensor, dict[str, Tensor]]:
    assert isinstance(pair[1], dict)
    return pair[0], pair[1]


def test_extrapolation_by_hand() -> None:
    # Three clients of one third each, 6 long along different axes, at a local rate of 1/2: the mean of the
    # squares is 36 / 4 = 9 and the mean's square 12 / 4 = 3, so the rate is 9 / (2 * (3 + 0.6)) = 1.25.
    params, _ = Extrapolation(eps=0.6).update({}, vector(0, 0, 0), a_step(vector(2, 2, 2), 0.5, 36.0))
    torch.testing.assert_close(params, vector(-1.25, -1.25, -1.25))
    doubled, _ = Extrapolation(2.0, 0.6).update({}, vector(0, 0, 0), a_step(vector(2, 2, 2), 0.5, 36.0))
    torch.testing.assert_close(doubled, 2 * params)


@given(st.floats(0.01, 2.0), st.floats(1e-4, 1.0), st.integers(1, 5))
def test_extrapolation_follows_its_formula_and_is_never_below_one(lr: float, eps: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    updates = torch.randn((4, 3), generator=generator, dtype=torch.float64)
    shares = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    deltas = lr * updates
    mean = shares @ deltas
    rate = max(1.0, float(shares @ deltas.square().sum(1)) / (2 * (float(mean.square().sum()) + eps)))
    step = a_step(shares @ updates, lr, float(shares @ updates.square().sum(1)))
    params, _ = Extrapolation(eps=eps).update({}, torch.zeros(3, dtype=torch.float64), step)
    torch.testing.assert_close(params, -rate * mean)


def test_extrapolation_of_clients_that_agree_is_plain() -> None:
    step = a_step(vector(3, 4), 0.5, 25.0)
    assert torch.equal(
        Extrapolation().update({}, vector(1, 1), step)[0], ServerSgd().update({}, vector(1, 1), step)[0]
    )


@pytest.mark.parametrize("part", ALL, ids=str)
def test_nothing_is_changed_in_place(part: ServerOptimizer) -> None:
    params, direction = vector(1, 2, 3), vector(-1, 0.5, 2)
    _, state = part.update(part.init(params), params, a_step(direction, mean_square=9.0))
    before = {name: tensor.clone() for name, tensor in state.items()}
    part.update(state, params, a_step(direction, mean_square=9.0))
    assert torch.equal(params, vector(1, 2, 3))
    assert torch.equal(direction, vector(-1, 0.5, 2))
    assert all(torch.equal(state[name], before[name]) for name in before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("part", ALL, ids=str)
def test_it_keeps_the_dtype(part: ServerOptimizer, dtype: torch.dtype) -> None:
    params = torch.ones(3, dtype=dtype)
    moved, state = part.update(part.init(params), params, a_step(params, mean_square=3.0))
    assert moved.dtype == dtype
    assert all(state[name].dtype == tensor.dtype for name, tensor in part.init(params).items())


@pytest.mark.parametrize("kind", [type(part) for part in ALL])
@pytest.mark.parametrize("lr", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_is_a_positive_number(kind: type[ServerSgd], lr: float) -> None:
    with pytest.raises(InputError, match=r"lr = .*: must be a positive number"):
        kind(lr=lr)


def test_the_other_numbers_are_checked() -> None:
    for wrong in (
        lambda: ServerMomentum(beta=1.0),
        lambda: ServerAdam(beta1=-0.1),
        lambda: ServerAdam(beta2=1.0),
        lambda: ServerAdam(tau=0.0),
        lambda: ServerYogi(beta2=1.5),
        lambda: ServerYogi(tau=-1.0),
        lambda: ServerAdagrad(beta1=1.0),
        lambda: Extrapolation(eps=0.0),
    ):
        with pytest.raises(InputError, match="Try"):
            wrong()
