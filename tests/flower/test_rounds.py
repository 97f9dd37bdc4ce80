"""Rounds through Flower's messages give what the reference engine gives."""

from pathlib import Path

import pytest
import torch
from flwr.app import ArrayRecord

from bherd import methods
from bherd.errors import InputError
from bherd.flower import HerdStrategy
from bherd.flower.client import load_shard
from bherd.flower.codec import decode_model, layout_of
from bherd.loop.state import State
from bherd.parts.presets import PRESETS
from bherd.session import prepare
from tests.flower.grid import MemoryGrid, federate, nodes, reference
from tests.tiny import tiny_config

TOLERANCE = {"float32": 1e-6, "float64": 1e-12}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", PRESETS)
def test_every_method_equals_the_reference(method: str, dtype: str, tmp_path: Path) -> None:
    clients = 1 if method == "centralized" else 3
    config = tiny_config(tmp_path, name=method, rounds=10, dtype=dtype, clients=clients)
    ours: list[State] = []
    federate(config, MemoryGrid(nodes(config, tmp_path)), history=ours)
    theirs: list[State] = []
    reference(config, history=theirs)
    for round in (1, 10):
        state, expected = ours[round - 1], theirs[round - 1]
        assert state.round == expected.round == round
        assert bool(expected.params.abs().max() > 0.01)
        torch.testing.assert_close(state.params, expected.params, rtol=0, atol=TOLERANCE[dtype])
        torch.testing.assert_close(
            dict(state.server), dict(expected.server), rtol=0, atol=10 * TOLERANCE[dtype]
        )


@pytest.mark.parametrize("method", ["bherd-scaffold", "grab-fednova", "fedavg"])
def test_a_draw_of_the_clients_equals_the_reference(method: str, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name=method, rounds=6, cohort=2, model="mlp")
    state = federate(config, MemoryGrid(nodes(config, tmp_path)))
    torch.testing.assert_close(state.params, reference(config).params, rtol=0, atol=1e-12)


def test_a_model_with_buffers_equals_the_reference(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, rounds=3, model="tests.user_models:batch_norm", dtype="float64")
    state = federate(config, MemoryGrid(nodes(config, tmp_path)))
    expected = reference(config)
    torch.testing.assert_close(state.params, expected.params, rtol=0, atol=1e-12)
    torch.testing.assert_close(state.buffers, expected.buffers, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "method",
    ["bherd-scaffold", "bherd-fednova", "fedavg", "fedavg,server=adam,alpha=0.3,selector=herding", "feddyn"],
)
def test_the_strategy_equals_the_reference(method: str, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name=method, rounds=4)
    session = prepare(config)
    model = session.task.model.module
    strategy = HerdStrategy(model, method, clients=3, local_lr=config.train.lr)
    grid = MemoryGrid(nodes(config, tmp_path))
    result = strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=4)
    params, _ = decode_model(layout_of(model), result.arrays)
    torch.testing.assert_close(params, reference(config).params, rtol=0, atol=1e-12)
    assert result.train_metrics_clientapp[4]["clients"] == 3
    assert list(result.arrays) == list(model.state_dict())


def test_a_strategy_takes_a_method_or_its_name(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, rounds=2, cohort=2, participation="balanced", shipped="running-mean")
    text = "bherd-fedavg,participation=balanced,shipped=running-mean"
    model = prepare(config).task.model.module
    found = []
    for method in (text, methods.named(text)):
        strategy = HerdStrategy(model, method, clients=3, local_lr=config.train.lr, cohort=2)
        grid = MemoryGrid(nodes(config, tmp_path))
        result = strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=2)
        models = (result.arrays, strategy.shipped)
        found.append([decode_model(layout_of(model), arrays)[0] for arrays in models])
    expected = reference(config)
    for last, shipped in found:
        torch.testing.assert_close(last, expected.params, rtol=0, atol=1e-12)
        mean = expected.server["shipped"]["m"] / expected.server["shipped"]["u"]
        torch.testing.assert_close(shipped, mean, rtol=0, atol=1e-12)
        assert not torch.equal(last, shipped)
    with pytest.raises(InputError, match=r"method is 'fedavgg', which is not known; did you mean 'fedavg'"):
        HerdStrategy(model, "fedavgg", clients=3, local_lr=0.1)


def test_clients_get_their_own_samples_and_no_others(tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    whole = prepare(config).task
    for client in range(3):
        shard = load_shard(config, client)
        assert len(shard.task.x_train) == whole.size(client)
        assert torch.equal(shard.task.samples(client)[0], whole.samples(client)[0])
        assert torch.equal(shard.task.samples(client)[1], whole.samples(client)[1])
