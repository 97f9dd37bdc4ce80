"""The checkpoint: everything that the next round needs, in one safetensors file."""

from pathlib import Path
from typing import NamedTuple

from bherd.loop.memory import on_device, pack_clients, pack_server, unpack_clients, unpack_server
from bherd.loop.state import State
from bherd.runs.header import Header, encode_header, parse_header
from bherd.runs.tensors import read_tensors, write_tensors


class Checkpoint(NamedTuple):
    """A state, the other files as they were when it was reached, and the run it belongs to."""

    state: State
    header: Header


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint atomically."""
    state = checkpoint.state
    tensors = {"params": state.params, **pack_server(state.server), **pack_clients(state.clients)}
    if state.buffers is not None:
        tensors["buffers"] = state.buffers
    write_tensors(path, tensors, {"bherd": encode_header(checkpoint.header)})


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint back, onto the CPU, or raise `DamagedFileError` naming the file."""
    tensors, metadata = read_tensors(path)
    header = parse_header(path, metadata)
    server, clients = unpack_server(tensors), unpack_clients(tensors)
    return Checkpoint(State(header.round, tensors["params"], tensors.get("buffers"), server, clients), header)


def move(state: State, device: str) -> State:
    """A state on another device."""
    return State(
        state.round,
        state.params.to(device),
        None if state.buffers is None else state.buffers.to(device),
        on_device(state.server, device),
        {client: on_device(memory, device) for client, memory in state.clients.items()},
    )
