"""Every kind of part in a federation: what it remembers travels, or stays where it belongs."""

from collections.abc import Set
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
import torch
from flwr.app import Message, MessageType
from safetensors.torch import load_file

from bherd.config import Config
from bherd.flower import Rules, codec
from bherd.flower.server_app import federation_name, run_federation
from bherd.flower.store import OwnState
from bherd.loop.memory import flat
from bherd.runs.checkpoint import load_checkpoint
from bherd.runs.life import run
from tests.flower.faults import round_of
from tests.flower.grid import FIRST_NODE, Handler, MemoryGrid, nodes
from tests.small_runs import read_lines
from tests.tiny import tiny_config

ROUNDS = 5
RULES = Rules(start_timeout=2, round_timeout=2, min_clients=3)


class Case(NamedTuple):
    """A method, and where its parts keep their memory."""

    settings: dict[str, object]
    server: Set[str] = frozenset()
    """In the server's checkpoint, as axis/name."""
    client: Set[str] = frozenset()
    """On the disk of each node."""
    down: Set[str] = frozenset()
    """In the server's messages, beside the model."""
    up: Set[str] = frozenset()
    """In the clients' messages, beside the update."""


C = "correction/c"
H = "correction/h"
ADAM = {"server/m", "server/v", "server/rounds"}
ORDER = {"order/order", "order/learnt"}
QUEUE = {
    f"participation/{name}" for name in ("mean", "asked", "queue", "front", "back", "met", "signed", "total")
}
CASES = {
    "scaffold": Case({"method": "bherd-scaffold"}, {C}, {C}, {"c"}, {"change"}),
    "feddyn": Case({"method": "feddyn", "mu": 0.1}, {H}, {H}, {"h"}, {"moved"}),
    "herded feddyn": Case({"method": "bherd-feddyn"}, {H}, {H}, {"h"}, {"moved"}),
    "proximal": Case({"method": "bherd-fedprox", "mu": 0.2}),
    "top-k": Case({"method": "fedavg", "transform": "top-k,share=0.1"}, client={"transform/error"}),
    "top-k under scaffold": Case(
        {"method": "bherd-scaffold", "transform": "top-k,share=0.1"},
        {C},
        {C, "transform/error"},
        {"c"},
        {"change"},
    ),
    "quantize": Case({"method": "bherd-fedavg", "transform": "quantize"}),
    "noise": Case({"method": "fedavg", "transform": "gaussian"}),
    "GraB order": Case({"method": "fedavg", "order": "grab", "batch_size": 5}, client={*ORDER, "order/mean"}),
    "herded order": Case({"method": "bherd-fedavg", "order": "herded", "batch_size": 5}, client=ORDER),
    "momentum on the clients": Case({"method": "fedavg", "optimizer": "sgd,momentum=0.9"}),
    "adam": Case({"method": "bherd-fedadam"}, ADAM),
    "extrapolation": Case({"method": "fedexp"}),
    "shuffled": Case(
        {"method": "bherd-fedavg", "participation": "shuffled", "cohort": 2}, {"participation/rest"}
    ),
    "balanced": Case({"method": "fedavg", "participation": "balanced", "cohort": 2}, QUEUE),
    "running mean": Case({"method": "fedavg", "shipped": "running-mean"}, {"shipped/m", "shipped/u"}),
    "mean of the last": Case({"method": "bherd-fednova", "shipped": "mean-of-last,k=2"}, {"shipped/models"}),
    "weights": Case({"method": "fedavg", "selector": "matching"}),
    "weights under FedNova": Case({"method": "fednova", "selector": "matching", "step": "amplified"}),
    "median": Case({"method": "bherd-fedmedian"}),
    "a share that grows": Case({"method": "bherd-fedavg", "alpha": "linear:0.3:1.0:4"}),
    "everything at once": Case(
        {
            "method": "bherd-scaffold",
            "participation": "shuffled",
            "cohort": 2,
            "order": "grab",
            "batch_size": 5,
            "selector": "matching",
            "transform": "top-k,share=0.5",
            "aggregation": "trimmed",
            "server": "adam",
            "shipped": "running-mean",
        },
        {C, *ADAM, "participation/rest", "shipped/m", "shipped/u"},
        {C, "transform/error", *ORDER, "order/mean"},
        {"c"},
        {"change"},
    ),
}


def config_of(case: Case, folder: Path) -> Config:
    return tiny_config(folder, rounds=ROUNDS, **case.settings)


def comparable(directory: Path) -> list[dict[str, object]]:
    """The lines of the metrics without times, and without bytes: a network carries plain floats."""
    return [
        {key: value for key, value in line.items() if key not in ("seconds", "uplink_bytes")}
        for line in read_lines(directory)
    ]


def assert_same(networked: Path, local: Path) -> None:
    """The same run to the last bit."""
    assert comparable(networked) == comparable(local)
    here, there = load_file(networked / "model.safetensors"), load_file(local / "model.safetensors")
    assert set(here) == set(there)
    assert all(torch.equal(here[name], there[name]) for name in there)
    for file, times in (("clients.parquet", ["seconds", "select_seconds"]), ("ledger.parquet", [])):
        ours, theirs = (pq.read_table(folder / file).drop_columns(times) for folder in (networked, local))
        assert ours.equals(theirs)


def watched(handler: Handler, replies: list[Message]) -> Handler:
    """The same node, whose answers are noted."""

    def handle(message: Message) -> Message | list[Message] | None:
        reply = handler(message)
        if isinstance(reply, Message) and message.metadata.message_type == MessageType.TRAIN:
            replies.append(reply)
        return reply

    return handle


@pytest.mark.parametrize("name", CASES)
def test_a_federation_is_a_local_run_to_the_last_bit(name: str, tmp_path: Path) -> None:
    config, case = config_of(CASES[name], tmp_path), CASES[name]
    local, networked = tmp_path / "local", tmp_path / "networked"
    run(config.replace(checkpoint_every=1), local)
    replies: list[Message] = []
    grid = MemoryGrid({number: watched(one, replies) for number, one in nodes(config, tmp_path).items()})
    summary = run_federation(grid, config, RULES, networked, poll=0.001)
    assert summary["status"] == "complete"
    assert_same(networked, local)
    down = {
        key.removeprefix(codec.SHARED)
        for message in grid.sent
        for key in message.content.array_records.get(codec.STATE, {})
    }
    up = {key for reply in replies for key in reply.content.array_records[codec.REPORT]}
    assert down == case.down
    assert up == {codec.UPDATE, *(codec.MESSAGE + one for one in case.up)}


class ServerKilledError(Exception):
    """Stands for a server that dies."""


@pytest.mark.parametrize("name", CASES)
def test_a_server_that_died_goes_on_to_the_last_bit(name: str, tmp_path: Path) -> None:
    """It dies in round 3 or the first one after it in which client 2 is asked; others may have answered."""
    case = CASES[name]
    config = config_of(case, tmp_path)
    local, networked = tmp_path / "local", tmp_path / "networked"
    run(config.replace(checkpoint_every=1), local)
    handlers = nodes(config, tmp_path)
    home = handlers[FIRST_NODE - 2]

    def dying(message: Message) -> Message | list[Message] | None:
        if message.content.config_records and round_of(message) >= 3:
            raise ServerKilledError
        return home(message)

    with pytest.raises(ServerKilledError):
        run_federation(MemoryGrid({**handlers, FIRST_NODE - 2: dying}), config, RULES, networked, poll=0.001)
    state = load_checkpoint(networked / "checkpoint.safetensors").state
    assert 2 <= state.round < ROUNDS
    assert set(flat(state.server)) == case.server
    assert {axis for memory in state.clients.values() for axis in memory} <= {"receipt"}
    assert set(state.clients) == ({0, 1, 2} if case.client else set())
    for client, memory in state.clients.items():
        own = OwnState(tmp_path / "nodes", federation_name(networked), client)
        assert set(flat(own.at(int(memory["receipt"]["round"])))) == case.client
    run_federation(MemoryGrid(nodes(config, tmp_path)), config, RULES, networked, poll=0.001)
    assert_same(networked, local)


def test_the_bytes_of_a_federation_are_those_on_the_wire(tmp_path: Path) -> None:
    """A local run counts what a coder could make of the update; bherd's messages carry all its floats."""
    config = config_of(CASES["top-k"], tmp_path)
    local, networked = tmp_path / "local", tmp_path / "networked"
    run(config, local)
    replies: list[Message] = []
    grid = MemoryGrid({number: watched(one, replies) for number, one in nodes(config, tmp_path).items()})
    run_federation(grid, config, RULES, networked, poll=0.001)
    sent = sum(
        array.numpy().nbytes
        for reply in replies
        for array in reply.content.array_records[codec.REPORT].values()
    )
    assert sum(line["uplink_bytes"] for line in read_lines(networked)) == sent
    assert sum(line["uplink_bytes"] for line in read_lines(local)) < 0.2 * sent
