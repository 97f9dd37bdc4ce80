"""Which model is shipped: by hand."""

import pytest
import torch
from torch import Tensor

from bherd.errors import InputError
from bherd.parts.part import Tensors
from bherd.shipped.base import Shipped
from bherd.shipped.last import LastModel
from bherd.shipped.mean_of_last import MeanOfLast
from bherd.shipped.running_mean import RunningMean

MODELS = [torch.tensor([value, 2 * value], dtype=torch.float64) for value in (4.0, 8.0, 1.0, 3.0)]
START = torch.tensor([100.0, 100.0], dtype=torch.float64)
ALL = [LastModel(), RunningMean(), MeanOfLast()]


def shipped(part: Shipped, models: list[Tensor]) -> list[float]:
    state: Tensors = part.init(START)
    for model in models:
        state = part.update(state, model)
    return part.model(state, models[-1] if models else START).tolist()


def test_the_last_model_needs_no_memory() -> None:
    assert [part.is_last for part in ALL] == [True, False, False]
    assert LastModel().init(START) == {}
    assert shipped(LastModel(), MODELS) == [3.0, 6.0]


def test_the_running_mean_by_hand() -> None:
    # 0.5 each: 4; (0.25 * 4 + 0.5 * 8) / 0.75; (0.125 * 4 + 0.25 * 8 + 0.5 * 1) / 0.875
    for count, first in [(1, 4.0), (2, 20 / 3), (3, 24 / 7)]:
        assert shipped(RunningMean(0.5), MODELS[:count]) == pytest.approx([first, 2 * first])
    assert shipped(RunningMean(0.0), MODELS) == [3.0, 6.0]


def test_the_running_mean_has_weights_that_sum_to_one() -> None:
    beta, rounds = 0.9, 4
    weights = [(1 - beta) * beta ** (rounds - 1 - t) / (1 - beta**rounds) for t in range(rounds)]
    expected = sum(weight * model for weight, model in zip(weights, MODELS, strict=True))
    assert isinstance(expected, Tensor)
    assert shipped(RunningMean(beta), MODELS) == pytest.approx(expected.tolist())


def test_the_mean_of_the_last_by_hand() -> None:
    assert shipped(MeanOfLast(2), MODELS[:1]) == [4.0, 8.0]
    assert shipped(MeanOfLast(2), MODELS[:2]) == [6.0, 12.0]
    assert shipped(MeanOfLast(2), MODELS) == [2.0, 4.0]
    assert shipped(MeanOfLast(1), MODELS) == [3.0, 6.0]
    assert shipped(MeanOfLast(9), MODELS) == [4.0, 8.0]


def test_the_oldest_model_is_dropped() -> None:
    state: Tensors = MeanOfLast(3).init(START)
    for model in MODELS:
        state = MeanOfLast(3).update(state, model)
    assert torch.equal(state["models"], torch.stack(MODELS[1:]))


@pytest.mark.parametrize("part", ALL, ids=str)
def test_before_the_first_round_it_is_the_first_model(part: Shipped) -> None:
    assert shipped(part, []) == [100.0, 100.0]


@pytest.mark.parametrize("part", ALL, ids=str)
def test_nothing_is_changed_in_place_and_the_dtype_stays(part: Shipped) -> None:
    params = torch.tensor([1.0, 2.0])
    state = part.update(part.init(params), params)
    before = {name: tensor.clone() for name, tensor in state.items()}
    part.update(state, 3 * params)
    assert all(torch.equal(state[name], before[name]) for name in before)
    assert torch.equal(params, torch.tensor([1.0, 2.0]))
    assert part.model(state, params).dtype == torch.float32


def test_the_numbers_are_checked() -> None:
    for wrong in (lambda: RunningMean(1.0), lambda: RunningMean(-0.1), lambda: MeanOfLast(0)):
        with pytest.raises(InputError, match="Try"):
            wrong()
