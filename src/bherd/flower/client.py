"""A client's half of a round, between a message and its reply."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from flwr.app import ConfigRecord, Message, RecordDict

from bherd.config import Config
from bherd.engines import SimulateEngine
from bherd.errors import InputError
from bherd.flower import codec
from bherd.flower.codec import Instruction, Layout
from bherd.flower.replies import DIVERGED
from bherd.flower.settings import (
    OtherSettingsError,
    WireForm,
    check_client_half,
    check_identity,
    check_weights_form,
)
from bherd.flower.store import OwnState, StateLostError
from bherd.loop.client import DivergedError, Outcome
from bherd.loop.memory import on_device
from bherd.loop.server import aggregate
from bherd.loop.state import Local, Memory, State, remembered
from bherd.method import Method
from bherd.methods import method_of
from bherd.parts.part import Tensors
from bherd.session import DTYPES, check_device, resolve
from bherd.streams import stream
from bherd.tasks.datasets import load_dataset
from bherd.tasks.partitions import partition
from bherd.tasks.task import Task, assemble


class Shard(NamedTuple):
    """What one client has: its own samples, the method, and the settings of local training."""

    client: int
    task: Task
    method: Method
    local: Local
    config: Config
    """As this client reads it, with everything filled in."""

    @property
    def layout(self) -> Layout:
        return codec.layout_of(self.task.model.module)


@lru_cache(maxsize=8)
def load_shard(config: Config, client: int) -> Shard:
    """The same samples in the same order as this client has in a local run, and no others."""
    config = resolve(config)
    wanted, run, train = config.task, config.run, config.train
    if client >= wanted.clients:
        raise InputError(
            f"this node is client {client}, but the run has {wanted.clients} clients, from 0 to "
            f"{wanted.clients - 1}: check its partition-id"
        )
    check_device(run.device)
    dataset = load_dataset(wanted.dataset, wanted.data_dir, seed=run.seed)
    parts = partition(dataset.y_train, wanted.partition, clients=wanted.clients, seed=run.seed)
    order = [np.empty(0, dtype=np.int64) for _ in parts]
    order[client] = stream(run.seed, "order", client=client).permutation(parts[client])
    assert wanted.model is not None, "resolve names it"
    own = dataset._replace(x_test=dataset.x_test[:1], y_test=dataset.y_test[:1])
    task = assemble(own, wanted.model, order, seed=run.seed, dtype=DTYPES[run.dtype], device=run.device)
    local = Local(train.batch_size, train.epochs, train.lr, run.seed)
    return Shard(client, task, method_of(config.method), local, config)


def answer(message: Message, shard: Shard, wire: WireForm, folder: Path) -> Message:
    """The reply to one message of the server: train, select, and send what the wire form carries.

    A client that cannot answer (its training diverged, its state is lost) says so in its reply.
    """
    if wire == "weights":
        check_weights_form(shard.method)
    instruction = codec.decode_instruction(shard.layout, message.content)
    try:
        check_identity(instruction.identity or "{}", shard.config)
        check_client_half(instruction.method, shard.method.at(instruction.round))
    except OtherSettingsError as error:
        content = codec.encode_refusal(shard.client, instruction.round, "settings", str(error))
        return Message(content, reply_to=message)
    lr = shard.local.at(instruction.round).lr
    if instruction.local_lr not in (None, lr):
        raise InputError(
            f"this client's learning rate is {lr:g}: must be the server's, "
            f"{instruction.local_lr:g}. Start the run again with one configuration."
        )
    try:
        outcome = _train(shard, instruction, folder)
    except (DivergedError, StateLostError) as error:
        if wire == "weights":
            raise
        kind = DIVERGED if isinstance(error, DivergedError) else "state-lost"
        content = codec.encode_refusal(shard.client, instruction.round, kind, str(error))
        return Message(content, reply_to=message)
    if wire == "sum":
        return Message(codec.encode_answer(outcome, instruction.round), reply_to=message)
    return Message(_weights(shard, instruction, outcome, message.content), reply_to=message)


def _train(shard: Shard, instruction: Instruction, folder: Path) -> Outcome:
    method, client, device = shard.method, shard.client, shard.task.x_train.device
    params = instruction.params.to(device)
    correction = method.correction
    if set(correction.server_init(params)) != set(instruction.shared):
        raise InputError(
            f"correction {correction} keeps state on the server, which sent {sorted(instruction.shared)}: "
            "use bherd's strategy there"
        )
    own: Memory = {}
    if instruction.acknowledged:
        own = OwnState(folder, instruction.federation, client).at(instruction.acknowledged)
        _check_memory(correction.client_init(params), own.get("correction", {}))
    shared = on_device({"correction": instruction.shared}, device)
    clients = {client: on_device(own, device)} if own else {}
    state = State(instruction.round - 1, params, instruction.buffers, remembered(shared), clients)
    engine = SimulateEngine(shard.task, method, shard.local, workers=1)
    try:
        (outcome,) = engine.run_clients(state, [client])
    finally:
        engine.close()
    if outcome.memory:
        store = OwnState(folder, instruction.federation, client)
        store.put(instruction.acknowledged, own, instruction.round, outcome.memory)
    return outcome


def _check_memory(wanted: Tensors, found: Tensors) -> None:
    """Refuse a correction's memory that is not the model's."""
    shapes = [{name: tuple(tensor.shape) for name, tensor in each.items()} for each in (wanted, found)]
    if shapes[0] != shapes[1]:
        raise StateLostError(f"this client's state has the shapes {shapes[1]}: must be {shapes[0]}.")


def _weights(shard: Shard, instruction: Instruction, outcome: Outcome, asked: RecordDict) -> RecordDict:
    """The model that this client's update leads to: the server's rule, applied to one report."""
    local, method = shard.local.at(instruction.round), shard.method.at(instruction.round)
    params, _ = aggregate(
        method, {}, instruction.params, [outcome.report], local_lr=local.lr, epochs=local.epochs
    )
    model = codec.encode_model(
        shard.layout, params, outcome.report.buffers, rest=asked.array_records[codec.MODEL]
    )
    return codec.encode_weights(outcome, model)


def identity_reply(message: Message, client: int) -> Message:
    """The reply to the question which client this node runs."""
    return Message(RecordDict({codec.NOTE: ConfigRecord({"client": client})}), reply_to=message)


def client_config(config: Config, data_folder: str | None) -> Config:
    """The configuration with what only this machine knows."""
    return config if data_folder is None else replace(config, task=replace(config.task, data_dir=data_folder))
