"""A loop of one's own in a Flower client: two lines, in either wire form."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from flwr.app import ArrayRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg, Strategy
from torch import Tensor, nn

from bherd import methods
from bherd.collector import Collector
from bherd.config import Config
from bherd.errors import InputError
from bherd.flower import FederationError, HerdStrategy, Rules, codec, sum_reply, weights_reply
from bherd.flower.client_app import who
from bherd.flower.settings import client_half
from bherd.parts.records import StepLength
from bherd.selectors.everything import Everything
from bherd.selectors.grab import Grab
from bherd.session import prepare
from bherd.tasks.flat import ravel
from tests.flower.grid import FIRST_NODE, MemoryGrid, by_strategy, federate, node, nodes, stock
from tests.tiny import tiny_config
from tests.training_habits import HABITS


def own_loop(optimizer: torch.optim.Optimizer, model: nn.Module, x: Tensor, y: Tensor) -> float:
    """Batches of 10, as a Flower user writes it."""
    losses = []
    for first in range(0, len(x) - 9, 10):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x[first : first + 10]), y[first : first + 10])
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


def app_of(config: Config, wire: str, alpha: float = 0.5, lr: float | None = None) -> ClientApp:
    """A user's ClientApp with the two lines; `lr` where it is not the server's."""
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
        optimizer = torch.optim.SGD(model.parameters(), lr=lr or config.train.lr)
        collector = Collector(model, optimizer, alpha=alpha)
        loss = own_loop(optimizer, model, x, y)
        if wire == "sum":
            return sum_reply(message, collector, client=client, num_examples=len(x), loss=loss)
        return weights_reply(message, collector, num_examples=len(x))

    return mine


@pytest.mark.parametrize("wire", ["sum", "weights"])
@pytest.mark.parametrize("model", ["mlp", "tests.user_models:batch_norm"])
def test_two_lines_around_a_loop_of_ones_own(wire: str, model: str, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-fedavg", model=model, rounds=3)
    mine = app_of(config, wire)
    grid = MemoryGrid({FIRST_NODE - c: node(config, c, tmp_path, None, mine) for c in range(3)})
    module = prepare(config).task.model.module
    strategy: Strategy
    if wire == "sum":
        strategy = HerdStrategy(
            module, methods.named("bherd-fedavg", alpha=0.5), clients=3, local_lr=config.train.lr
        )
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
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    collector = Collector(model, optimizer, selector=Everything())
    own_loop(optimizer, model, *task.samples(0))
    reply = weights_reply(asked, collector, num_examples=7, metrics={"mine": 2.0})
    record = reply.content.array_records["arrays"]
    assert list(record) == list(model.state_dict())
    for name, trained in model.state_dict().items():
        np.testing.assert_allclose(record[name].numpy(), trained.numpy(), rtol=0, atol=1e-14)
    metrics = reply.content.metric_records["metrics"]
    assert (metrics["num-examples"], metrics["mine"]) == (7, 2.0)
    assert metrics["steps"] == metrics["kept"] == len(task.samples(0)[0]) // 10


@pytest.mark.parametrize(("step", "times"), [("equation", 2.0), ("amplified", 2.0), ("matched", 1.0)])
def test_a_client_with_one_step_replies_with_the_length_that_was_asked_for(
    step: StepLength, times: float, tmp_path: Path
) -> None:
    """It keeps its one step whatever alpha is: the nominal alpha doubles it, the matched step does not."""
    task = prepare(tiny_config(tmp_path, model="mlp")).task
    model = task.model.module
    MemoryGrid({})
    start = {name: value.clone() for name, value in model.state_dict().items()}
    asked = Message(RecordDict({"arrays": ArrayRecord(model.state_dict())}), 1, "train")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    collector = Collector(model, optimizer, alpha=0.5)
    x, y = task.samples(0)
    own_loop(optimizer, model, x[:10], y[:10])
    record = weights_reply(asked, collector, num_examples=10, step=step).content.array_records["arrays"]
    for name, trained in model.state_dict().items():
        moved = times * (trained - start[name])
        np.testing.assert_allclose(record[name].numpy() - start[name].numpy(), moved.numpy(), rtol=1e-12)
        assert float(moved.abs().max()) > 0


@pytest.mark.parametrize("name", HABITS)
def test_with_everything_kept_the_reply_is_the_trained_model_for_every_optimizer(name: str) -> None:
    habit = HABITS[name]
    torch.manual_seed(0)
    model = habit.model()
    MemoryGrid({})
    asked = Message(RecordDict({"arrays": ArrayRecord(model.state_dict())}), 1, "train")
    optimizer = habit.optimizer(model)
    collector = Collector(model, optimizer, selector=Everything())
    habit.loop(model, optimizer)
    record = weights_reply(asked, collector, num_examples=80).content.array_records["arrays"]
    for key, trained in model.state_dict().items():
        torch.testing.assert_close(torch.from_numpy(record[key].numpy()), trained, rtol=0, atol=1e-6)


def test_a_loop_of_ones_own_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, model="mlp")
    model = prepare(config).task.model.module
    MemoryGrid({})
    layout = codec.layout_of(model)
    flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    collector = Collector(model, optimizer)
    scaffold = codec.encode_instruction(
        layout, codec.Instruction(1, flat, None, {"c": torch.zeros_like(flat)})
    )
    with pytest.raises(InputError, match="SCAFFOLD"):
        sum_reply(Message(scaffold, 1, "train"), collector, client=0, num_examples=1, loss=0.0)
    plain = Message(RecordDict({"arrays": ArrayRecord(model.state_dict())}), 1, "train")
    with pytest.raises(InputError, match="share that only the server can tell"):
        weights_reply(plain, Collector(model, optimizer, selector=Grab()), num_examples=1)
    other = Message(RecordDict({"arrays": ArrayRecord(nn.Linear(2, 2).state_dict())}), 1, "train")
    with pytest.raises(InputError, match=r"no array '0\.weight': server and client differ"):
        weights_reply(other, collector, num_examples=1)
    unpriced = codec.encode_instruction(layout, codec.Instruction(1, flat, None))
    with pytest.raises(InputError, match="the server sent no learning rate"):
        sum_reply(Message(unpriced, 1, "train"), collector, client=0, num_examples=1, loss=0.0)


@pytest.mark.parametrize("wire", ["sum", "weights"])
def test_local_training_that_began_elsewhere_is_refused(wire: str, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, model="mlp")
    task = prepare(config).task
    model = task.model.module
    MemoryGrid({})
    flat = ravel(model) + 0.25
    instruction = codec.Instruction(1, flat, None, local_lr=0.05)
    content = codec.encode_instruction(codec.layout_of(model), instruction)
    asked = Message(content, 1, "train")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    collector = Collector(model, optimizer)
    own_loop(optimizer, model, *task.samples(0))
    by_sum = partial(sum_reply, client=0, loss=0.0)
    reply = by_sum if wire == "sum" else weights_reply
    with pytest.raises(InputError, match=r"another model than the server sent, 0\.25 away"):
        reply(asked, collector, num_examples=1)


def test_a_sum_is_sent_in_units_of_the_servers_learning_rate(tmp_path: Path) -> None:
    """Clients that step with 0.02 move a server that counts in 0.05 by what they moved themselves."""
    config = tiny_config(tmp_path, name="bherd-fedavg", model="mlp", rounds=3, lr=0.02)

    def grid(lr: float | None) -> MemoryGrid:
        mine = app_of(config, "sum", lr=lr)
        return MemoryGrid({FIRST_NODE - c: node(config, c, tmp_path, None, mine) for c in range(3)})

    module = prepare(config).task.model.module
    strategy = HerdStrategy(module, methods.named("bherd-fedavg", alpha=0.5), clients=3, local_lr=0.05)
    params = by_strategy(strategy, config, grid(0.02), rounds=3)
    expected = federate(config, MemoryGrid(nodes(config, tmp_path)))
    torch.testing.assert_close(params, expected.params, rtol=0, atol=1e-12)


def test_a_share_that_changes_over_the_rounds_is_the_rounds_own(tmp_path: Path) -> None:
    """A collector counts no rounds; the server says what it expects in this one."""
    method = methods.named("bherd-fedavg", alpha="linear:0.3:1.0:4")
    model = prepare(tiny_config(tmp_path, model="mlp")).task.model.module
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with pytest.raises(InputError, match=r"alpha=linear:0\.3:1\.0:4: must be of one round"):
        Collector(model, optimizer, selector=method.selector)
    MemoryGrid({})
    told = codec.Instruction(4, ravel(model), None, local_lr=0.05, method=client_half(method.at(4)))
    message = Message(codec.encode_instruction(codec.layout_of(model), told), 1, "train")
    early = Collector(model, optimizer, selector=method.at(1).selector)
    with pytest.raises(
        InputError, match=r"selector is herding,alpha=0\.3 .* must be the server's, herding,alpha=1"
    ):
        sum_reply(message, early, client=0, num_examples=1, loss=0.0)


def test_our_own_client_refuses_another_learning_rate_than_the_servers(tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="fedavg", lr=0.05)
    module = prepare(config).task.model.module
    rules = Rules(start_timeout=2, round_timeout=3)
    strategy = HerdStrategy(module, methods.named("fedavg"), clients=3, local_lr=0.5, rules=rules)
    with pytest.raises(FederationError, match=r"learning rate is 0\.05: must be the server's, 0\.5"):
        by_strategy(strategy, config, MemoryGrid(nodes(config, tmp_path)), rounds=1)
