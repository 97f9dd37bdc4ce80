"""The checkpoint: everything that the next round needs, in one safetensors file."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

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
    tensors = {"params": state.params, "shared": state.shared}
    if state.buffers is not None:
        tensors["buffers"] = state.buffers
    if state.own:
        clients = sorted(state.own)
        tensors["own_clients"] = torch.tensor(clients, dtype=torch.int64)
        tensors["own"] = torch.stack([state.own[client] for client in clients])
    write_tensors(path, tensors, {"bherd": encode_header(checkpoint.header)})


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint back, onto the CPU, or raise `DamagedFileError` naming the file."""
    tensors, metadata = read_tensors(path)
    header = parse_header(path, metadata)
    own: Mapping[int, Tensor] = {}
    if "own" in tensors:
        own = dict(zip(tensors["own_clients"].tolist(), tensors["own"], strict=True))
    return Checkpoint(
        State(header.round, tensors["params"], tensors.get("buffers"), tensors["shared"], own), header
    )


def move(state: State, device: str) -> State:
    """A state on another device."""
    return State(
        state.round,
        state.params.to(device),
        None if state.buffers is None else state.buffers.to(device),
        state.shared.to(device),
        {client: own.to(device) for client, own in state.own.items()},
    )
