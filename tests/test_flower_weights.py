"""The weights form: herding clients under Flower's own strategies."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
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
from torch import Tensor, nn

from bherd import methods
from bherd.collector import Collector
from bherd.config import Config
from bherd.errors import InputError
from bherd.flower import FederationError, HerdStrategy, Rules, codec, sum_reply, weights_reply
from bherd.flower.client_app import train, who
from bherd.flower.settings import check_weights_form
from bherd.names import METHOD_NAMES
from bherd.selectors import everything, grab
from bherd.session import Session, prepare
from flower_grid import FIRST_NODE, MemoryGrid, federate, node, nodes, tiny_config

WEIGHTS = Rules(wire="weights")
SERVED = ["fedavg", "bherd-fedavg", "random-fedavg"]
TOLERANCE = {"float32": 1e-6, "float64": 1e-12}


def by_strategy(strategy: Strategy, config: Config, grid: MemoryGrid, rounds: int) -> Tensor:
    model = prepare(config).task.model.module
    result = strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=rounds)
    params, _ = codec.decode_model(codec.layout_of(model), result.arrays)
    return params


def stock(**settings: int) -> dict[str, float]:
    return {"fraction_evaluate": 0.0, "min_train_nodes": 3, "min_available_nodes": 3, **settings}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("step", ["equation", "amplified"])
@pytest.mark.parametrize("method", SERVED)
def test_stock_fedavg_equals_the_sum_form(method: str, step: str, dtype: str, tmp_path: Path) -> None:
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
    config = tiny_config(tmp_path, name="fedavg", model="flower_grid:one_vector", rounds=1)
    model = prepare(config).task.model.module
    rules = Rules(start_timeout=2, round_timeout=3)
    inner = HerdStrategy(model, methods.fedavg(), clients=3, local_lr=0.05, rules=rules)
    strategy = DifferentialPrivacyServerSideFixedClipping(
        inner, noise_multiplier=0.0, clipping_norm=1e-3, num_sampled_clients=3
    )
    grid = MemoryGrid(nodes(config, tmp_path))
    with pytest.raises(InputError, match="wrapped in another strategy"):
        strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=1)
    assert grid.sent == []


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_which_methods_the_weights_form_serves(method: str) -> None:
    if method in (*SERVED, "reversed-fedavg", "centralized"):
        check_weights_form(methods.by_name(method))
        return
    with pytest.raises(InputError, match=r"weights form cannot carry this method: .* use the sum form"):
        check_weights_form(methods.by_name(method))


def test_a_client_refuses_a_method_that_the_weights_form_cannot_carry(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-scaffold")
    grid = MemoryGrid(nodes(config, tmp_path, WEIGHTS))
    model = prepare(config).task.model.module
    content = RecordDict(
        {"arrays": ArrayRecord(model.state_dict()), "config": ConfigRecord({"server-round": 1})}
    )
    (reply,) = grid.send_and_receive([Message(content, FIRST_NODE, "train")])
    assert "weights form cannot carry" in (reply.error.reason or "")


# --- a loop of one's own -----------------------------------------------------------------------


def own_loop(collector: Collector | None, model: nn.Module, x: Tensor, y: Tensor, lr: float) -> float:
    """Plain SGD over batches of 10, as a Flower user writes it."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    losses = []
    for first in range(0, len(x) - 9, 10):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[first : first + 10]), y[first : first + 10])
        torch.autograd.backward(loss)
        if collector is not None:
            collector.record()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def app_of(config: Config, wire: str, alpha: float = 0.5) -> ClientApp:
    """A user's ClientApp with the three lines."""
    mine = ClientApp()
    mine.query()(who)
    task = prepare(config).task

    @mine.train()
    def _train(message: Message, context: Context) -> Message:
        client = context.node_config["partition-id"]
        assert isinstance(client, int)
        model = prepare(config).task.model.module
        model.load_state_dict(message.content.array_records["arrays"].to_torch_state_dict())
        x, y = task.samples(client)
        collector = Collector(model, alpha=alpha)
        loss = own_loop(collector, model, x, y, config.train.lr)
        if wire == "sum":
            return sum_reply(message, collector, client=client, num_examples=len(x), loss=loss)
        return weights_reply(message, collector, lr=config.train.lr, num_examples=len(x))

    return mine


@pytest.mark.parametrize("wire", ["sum", "weights"])
@pytest.mark.parametrize("model", ["mlp", "user_models:batch_norm"])
def test_three_lines_in_a_loop_of_ones_own(wire: str, model: str, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-fedavg", model=model, rounds=3, reshuffle=False)
    mine = app_of(config, wire)
    grid = MemoryGrid({FIRST_NODE - c: node(config, c, tmp_path, None, mine) for c in range(3)})
    module = prepare(config).task.model.module
    strategy: Strategy
    if wire == "sum":
        strategy = HerdStrategy(module, methods.bherd_fedavg(0.5), clients=3, local_lr=config.train.lr)
    else:
        strategy = FedAvg(**stock())  # type: ignore[arg-type]
    params = by_strategy(strategy, config, grid, rounds=3)
    expected = federate(config, MemoryGrid(nodes(config, tmp_path)))
    torch.testing.assert_close(params, expected.params, rtol=0, atol=1e-12)


def test_with_everything_kept_the_reply_is_the_trained_model(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, model="mlp")
    task = prepare(config).task
    model = task.model.module
    MemoryGrid({})
    asked = Message(RecordDict({"arrays": ArrayRecord(model.state_dict())}), 1, "train")
    collector = Collector(model, selector=everything())
    own_loop(collector, model, *task.samples(0), lr=0.05)
    reply = weights_reply(asked, collector, lr=0.05, num_examples=7, metrics={"mine": 2.0})
    record = reply.content.array_records["arrays"]
    assert list(record) == list(model.state_dict())
    for name, trained in model.state_dict().items():
        np.testing.assert_allclose(record[name].numpy(), trained.numpy(), rtol=0, atol=1e-14)
    metrics = reply.content.metric_records["metrics"]
    assert (metrics["num-examples"], metrics["mine"]) == (7, 2.0)
    assert metrics["steps"] == metrics["kept"] == len(task.samples(0)[0]) // 10


def test_a_loop_of_ones_own_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, model="mlp")
    model = prepare(config).task.model.module
    MemoryGrid({})
    layout = codec.layout_of(model)
    flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    scaffold = codec.encode_instruction(layout, codec.Instruction(1, flat, None, torch.zeros_like(flat)))
    with pytest.raises(InputError, match="SCAFFOLD"):
        sum_reply(Message(scaffold, 1, "train"), Collector(model), client=0, num_examples=1, loss=0.0)
    plain = Message(RecordDict({"arrays": ArrayRecord(model.state_dict())}), 1, "train")
    with pytest.raises(InputError, match="share that only the server can tell"):
        weights_reply(plain, Collector(model, selector=grab()), lr=0.1, num_examples=1)
    other = Message(RecordDict({"arrays": ArrayRecord(nn.Linear(2, 2).state_dict())}), 1, "train")
    with pytest.raises(InputError, match=r"no array '0\.weight': server and client differ"):
        weights_reply(other, Collector(model), lr=0.1, num_examples=1)
