"""The two apps of the Flower simulation, in a module that Flower's worker processes can import.

Which client's samples a node trains on is told by the message, so that the participants of a round are
those of every other simulator. A worker reads the data once and keeps it; batches are slices in memory.
"""

import sys
from collections.abc import Iterable
from functools import lru_cache

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from benchmarks.peers.handout import Clock, Handout, Pair, accuracy, build, load, loss_of, path_given

client_app, server_app = ClientApp(), ServerApp()
clock = Clock()


def cores_given() -> int:
    """The cores of one worker, which are its threads, as the contestant asks for them."""
    return int(sys.argv[2])


class _Kept:
    """What a worker keeps between messages."""

    def __init__(self, path: str, threads: int) -> None:
        self.handout = load(path)
        torch.set_num_threads(threads)
        self.module, self.loss = build(self.handout), loss_of(self.handout)
        self._batches: dict[int, list[Pair]] = {}

    def batches(self, client: int) -> list[Pair]:
        if client not in self._batches:
            self._batches[client] = self.handout.batches(client)
        return self._batches[client]


@lru_cache(maxsize=1)
def _kept(path: str, threads: int) -> _Kept:
    return _Kept(path, threads)


@client_app.train()
def train(message: Message, _: Context) -> Message:
    """Train on the samples of one client."""
    config = message.content["config"]
    kept, client = _kept(config["path"], config["threads"]), config["client"]
    module = kept.module
    module.load_state_dict(message.content["arrays"].to_torch_state_dict())
    optimizer = torch.optim.SGD(module.parameters(), lr=kept.handout.lr)
    for x, y in kept.batches(client):
        optimizer.zero_grad()
        kept.loss(module(x), y).backward()
        optimizer.step()
    weight = MetricRecord({"num-examples": kept.handout.size(client)})
    answer = RecordDict({"arrays": ArrayRecord(module.state_dict()), "metrics": weight})
    return Message(answer, reply_to=message)


class Planned(FedAvg):
    """Flower's FedAvg; each message also names the client whose samples are meant."""

    def __init__(self, handout: Handout) -> None:
        super().__init__(
            fraction_train=handout.share,
            fraction_evaluate=0.0,
            min_train_nodes=len(handout.cohorts[0]),
            min_available_nodes=len(handout.clients),
        )
        self.cohorts = handout.cohorts

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        messages = super().configure_train(server_round, arrays, config, grid)
        for message, client in zip(messages, self.cohorts[server_round - 1], strict=True):
            own = ConfigRecord({**config, "client": client})
            message.content = RecordDict({"arrays": arrays, "config": own})
            yield message


@server_app.main()
def serve(grid: Grid, _: Context) -> None:
    """All rounds, with the test accuracy taken by the server."""
    handout = load(path_given())
    module = build(handout)

    def evaluate(number: int, arrays: ArrayRecord) -> None:
        if number == 0:
            return
        reached = None
        if handout.due(number):
            module.load_state_dict(arrays.to_torch_state_dict())
            reached = accuracy(module, handout.test)
        clock.round_over(reached)

    Planned(handout).start(
        grid=grid,
        initial_arrays=ArrayRecord(module.state_dict()),
        num_rounds=handout.rounds,
        train_config=ConfigRecord({"path": path_given(), "threads": cores_given()}),
        evaluate_fn=evaluate,
    )
