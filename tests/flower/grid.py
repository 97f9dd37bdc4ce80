"""A Flower federation in one process: a grid in memory whose nodes run the real ClientApp."""

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import numpy as np
import torch
from flwr.app import ArrayRecord, Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity
from torch import Tensor, nn

from bherd.config import Config
from bherd.flower import Rejection, Rules, codec
from bherd.flower.client_app import app
from bherd.flower.engine import FlowerEngine
from bherd.flower.settings import flat_run_config
from bherd.loop.rounds import run_rounds
from bherd.loop.state import State, start_state
from bherd.session import prepare

Handler = Callable[[Message], Message | list[Message] | None]
FIRST_NODE = 1000


class OneVector(nn.Module):
    """A linear model whose parameters are a single vector."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.flat = nn.Parameter(torch.zeros(features * classes))
        self.classes = classes

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) @ self.flat.view(-1, self.classes)


def one_vector(shape: tuple[int, ...], classes: int) -> nn.Module:
    return OneVector(int(np.prod(shape)), classes)


class MemoryGrid(Grid):
    """Delivers every message at once. Node ids run from high to low, replies from last to first."""

    def __init__(self, handlers: dict[int, Handler]) -> None:
        self.handlers = handlers
        self.replies: dict[str, list[Message]] = {}
        self.sent: list[Message] = []
        self._count = 0
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1

    def set_run(self, run: Run) -> None:
        raise NotImplementedError

    @property
    def run(self) -> Run:
        raise NotImplementedError

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        raise NotImplementedError

    def get_node_ids(self) -> Iterable[int]:
        return list(self.handlers)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        numbers = []
        for message in messages:
            self._count += 1
            number = f"message-{self._count}"
            message.metadata.__dict__["_message_id"] = number
            self.sent.append(message)
            reply = self.handlers[message.metadata.dst_node_id](message)
            if reply is not None:
                self.replies.setdefault(number, []).extend(reply if isinstance(reply, list) else [reply])
            numbers.append(number)
        return numbers

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        found = [self.replies.pop(number) for number in sorted(message_ids) if number in self.replies]
        return [reply for replies in reversed(found) for reply in replies]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        del timeout
        return self.pull_messages(self.push_messages(messages))


def node(
    config: Config, client: int, folder: Path, rules: Rules | None = None, client_app: ClientApp = app
) -> Handler:
    """A SuperNode with one client; an exception becomes an error reply, as Flower makes it."""
    context = Context(
        run_id=1,
        node_id=FIRST_NODE - client,
        node_config={
            "partition-id": client,
            "num-partitions": config.task.clients,
            "state-dir": str(folder / "nodes"),
        },
        state=RecordDict(),
        run_config=flat_run_config(config, rules or Rules()),
    )

    def handle(message: Message) -> Message:
        try:
            return client_app(message, context)
        except Exception as error:  # as the SuperNode does
            return Message(Error(code=2, reason=f"{type(error).__name__}: {error}"), reply_to=message)

    return handle


def nodes(config: Config, folder: Path, rules: Rules | None = None) -> dict[int, Handler]:
    """All the nodes of a federation."""
    return {FIRST_NODE - client: node(config, client, folder, rules) for client in range(config.task.clients)}


def federate(
    config: Config,
    grid: Grid,
    *,
    rules: Rules | None = None,
    state: State | None = None,
    name: str = "test",
    rejections: list[Rejection] | None = None,
    history: list[State] | None = None,
) -> State:
    """Run the rounds of a configuration through a grid and return the last state."""
    session = prepare(config)
    state = state or start_state(session.task, session.method)
    noted = [] if rejections is None else rejections
    quick = Rules(start_timeout=5, round_timeout=5)
    engine = FlowerEngine(grid, session, rules or quick, name, noted.append, poll=0.001)
    with closing(engine):
        for after, record in run_rounds(engine, session.task, session.method, session.plan, state):
            assert not record.diverged
            state = after
            if history is not None:
                history.append(state)
    return state


def reference(
    config: Config, absent: set[tuple[int, int]] | None = None, history: list[State] | None = None
) -> State:
    """The same rounds by the reference engine, without the (round, client) pairs that were absent."""
    session = prepare(config.replace(engine="reference"))
    state = start_state(session.task, session.method)
    gone = absent or set()
    with closing(session.engine()) as engine:
        inner = engine.run_clients

        def run_clients(before: State, clients: Iterable[int]) -> list[object]:
            return inner(before, [c for c in clients if (before.round + 1, c) not in gone])  # type: ignore[return-value]

        engine.run_clients = run_clients  # type: ignore[method-assign,assignment]
        for after, record in run_rounds(engine, session.task, session.method, session.plan, state):
            assert not record.diverged
            state = after
            if history is not None:
                history.append(state)
    return state


def by_strategy(strategy: Strategy, config: Config, grid: MemoryGrid, rounds: int) -> Tensor:
    model = prepare(config).task.model.module
    result = strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=rounds)
    params, _ = codec.decode_model(codec.layout_of(model), result.arrays)
    return params


def stock(**settings: int) -> dict[str, float]:
    return {"fraction_evaluate": 0.0, "min_train_nodes": 3, "min_available_nodes": 3, **settings}
