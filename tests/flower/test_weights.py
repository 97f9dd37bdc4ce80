"""The weights form: herding clients under Flower's own strategies."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.mod import fixedclipping_mod
from flwr.serverapp.strategy import (
    DifferentialPrivacyClientSideFixedClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAdam,
    FedAvg,
    FedMedian,
    Krum,
    Strategy,
)
from torch import Tensor

from bherd import methods
from bherd.errors import InputError
from bherd.flower import FederationError, HerdStrategy, Rules, codec
from bherd.flower.client_app import train, who
from bherd.flower.settings import check_weights_form
from bherd.parts.presets import PRESETS
from bherd.parts.records import STEP_LENGTHS
from bherd.session import Session, prepare
from tests.flower.grid import FIRST_NODE, MemoryGrid, by_strategy, federate, node, nodes, stock
from tests.tiny import tiny_config

WEIGHTS = Rules(wire="weights")
SERVED = ["fedavg", "bherd-fedavg", "random-fedavg"]
ALL_SERVED = {
    f"{prefix}{base}" for prefix in ("", "bherd-", "random-", "reversed-") for base in ("fedavg", "fedprox")
}
TOLERANCE = {"float32": 1e-6, "float64": 1e-12}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("method", "step"),
    [(name, step) for name in SERVED for step in STEP_LENGTHS if name != "fedavg"]
    + [("fedavg", None), ("bherd-fedprox", "matched"), ("bherd-fedavg,alpha=linear:0.3:1.0:4", "amplified")],
)
def test_stock_fedavg_equals_the_sum_form(method: str, step: str | None, dtype: str, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name=method, step=step, rounds=5, dtype=dtype, lr=0.01, epochs=2.0)
    grid = MemoryGrid(nodes(config, tmp_path, WEIGHTS))
    params = by_strategy(FedAvg(**stock()), config, grid, rounds=5)  # type: ignore[arg-type]
    state = federate(config, MemoryGrid(nodes(config, tmp_path)))
    torch.testing.assert_close(params, state.params, rtol=0, atol=TOLERANCE[dtype])


OTHERS: dict[str, Callable[[], Strategy]] = {
    "FedAdam": lambda: FedAdam(**stock(), eta=0.01),  # type: ignore[arg-type]
    "FedMedian": lambda: FedMedian(**stock()),  # type: ignore[arg-type]
    "Krum": lambda: Krum(**stock()),  # type: ignore[arg-type]
    "server-side clipping": lambda: DifferentialPrivacyServerSideFixedClipping(
        FedAvg(**stock()),  # type: ignore[arg-type]
        noise_multiplier=0.01,
        clipping_norm=1.0,
        num_sampled_clients=3,
    ),
}


def train_loss(session: Session, params: Tensor) -> float:
    engine = session.engine()
    try:
        return engine.evaluate(params, None, train=True).train_loss
    finally:
        engine.close()


@pytest.mark.parametrize("name", OTHERS)
def test_other_stock_strategies_learn_from_herding_clients(name: str, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-fedavg", model="logistic", rounds=10, lr=0.1)
    np.random.seed(0)  # noqa: NPY002  what Flower's noise draws from
    session = prepare(config)
    grid = MemoryGrid(nodes(config, tmp_path, WEIGHTS))
    params = by_strategy(OTHERS[name](), config, grid, rounds=10)
    assert bool(torch.isfinite(params).all())
    assert train_loss(session, params) < 0.95 * train_loss(session, torch.zeros_like(params))


def test_client_side_clipping_clips_the_herded_update(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-fedavg", rounds=1, lr=0.5)
    clipped = ClientApp(mods=[fixedclipping_mod])
    clipped.train(mods=[fixedclipping_mod])(train)
    handlers = {FIRST_NODE - client: node(config, client, tmp_path, WEIGHTS, clipped) for client in range(3)}
    norm = 0.01
    strategy = DifferentialPrivacyClientSideFixedClipping(
        FedAvg(**stock()),  # type: ignore[arg-type]
        noise_multiplier=0.0,
        clipping_norm=norm,
        num_sampled_clients=3,
    )
    moved = by_strategy(strategy, config, MemoryGrid(handlers), rounds=1)
    assert 0.1 * norm < float(moved.norm()) <= norm * 1.000001
    free = federate(config, MemoryGrid(nodes(config, tmp_path))).params
    assert float(free.norm()) > 10 * norm


@pytest.mark.parametrize("method", ["fedavg", "bherd-fedavg"])
def test_clipping_made_for_models_does_not_touch_sums_silently(method: str, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name=method, rounds=1)
    clipped = ClientApp()
    clipped.query()(who)
    clipped.train(mods=[fixedclipping_mod])(train)

    def armed(client: int) -> Callable[[Message], Message | list[Message] | None]:
        inner = node(config, client, tmp_path, None, clipped)

        def handle(message: Message) -> Message | list[Message] | None:
            if codec.CONFIG in message.content.config_records:
                message.content.config_records[codec.CONFIG]["clipping_norm"] = 0.01
            return inner(message)

        return handle

    grid = MemoryGrid({FIRST_NODE - client: armed(client) for client in range(3)})
    rules = Rules(start_timeout=2, round_timeout=3)
    with pytest.raises(FederationError, match=r"0 of 3 clients"):
        federate(config, grid, rules=rules)


def test_a_wrapper_made_for_models_does_not_touch_sums_silently(tmp_path: Path) -> None:
    """A model of one vector: the wrapper would find arrays of the right shape, and clip them."""
    config = tiny_config(tmp_path, name="fedavg", model="tests.flower.grid:one_vector", rounds=1)
    model = prepare(config).task.model.module
    rules = Rules(start_timeout=2, round_timeout=3)
    inner = HerdStrategy(model, methods.named("fedavg"), clients=3, local_lr=0.05, rules=rules)
    strategy = DifferentialPrivacyServerSideFixedClipping(
        inner, noise_multiplier=0.0, clipping_norm=1e-3, num_sampled_clients=3
    )
    grid = MemoryGrid(nodes(config, tmp_path))
    with pytest.raises(InputError, match="wrapped in another strategy"):
        strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=1)
    assert grid.sent == []


@pytest.mark.parametrize("method", PRESETS)
def test_which_methods_the_weights_form_serves(method: str) -> None:
    if method in (*ALL_SERVED, "centralized"):
        check_weights_form(methods.named(method))
        return
    with pytest.raises(InputError, match=r"weights form cannot carry this method: .* use the sum form"):
        check_weights_form(methods.named(method))


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("fedavg,transform=top-k", "the transform top-k,share=0.01 changes updates, not models"),
        ("fedavg,order=grab", "the order grab.* remembers rounds"),
        ("fedavg,participation=shuffled", "the participation shuffled is bherd's own"),
        ("fedavg,shipped=running-mean", "the shipped model running-mean,beta=0.9 is bherd's own"),
        ("fedavg,selector=matching", "the selector matching,alpha=0.5 has a share that only the server"),
    ],
)
def test_parts_that_a_stock_server_would_pass_over_are_refused(method: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check_weights_form(methods.named(method))


def test_a_client_refuses_a_method_that_the_weights_form_cannot_carry(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-scaffold")
    grid = MemoryGrid(nodes(config, tmp_path, WEIGHTS))
    model = prepare(config).task.model.module
    content = RecordDict(
        {"arrays": ArrayRecord(model.state_dict()), "config": ConfigRecord({"server-round": 1})}
    )
    (reply,) = grid.send_and_receive([Message(content, FIRST_NODE, "train")])
    assert "weights form cannot carry" in (reply.error.reason or "")
