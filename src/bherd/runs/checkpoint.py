"""The checkpoint: everything that the next round needs, in one safetensors file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load, save
from torch import Tensor

from bherd.engines.base import State
from bherd.errors import DamagedFileError
from bherd.runs.files import Mark, write_atomically
from bherd.runs.seal import BLANK, read_sealed, seal

FORMAT = 2


class Origin(NamedTuple):
    """What a run began with, to notice a resume that no longer matches."""

    config: dict[str, dict[str, Any]]
    """Every setting, by table."""
    environment: dict[str, str]
    """Versions and platform."""
    data: str
    """The fingerprint of the dataset."""


class Checkpoint(NamedTuple):
    """A state, the other files as they were when it was reached, and the run it belongs to."""

    state: State
    marks: dict[str, Mark]
    """The length and hash of each log and of the partition, by file name."""
    origin: Origin
    seconds: float
    """Time spent so far."""
    diverged_at: int | None = None


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
    tensors = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    header = {
        "format": FORMAT,
        "round": state.round,
        "marks": checkpoint.marks,
        "origin": checkpoint.origin._asdict(),
        "seconds": checkpoint.seconds,
        "diverged_at": checkpoint.diverged_at,
    }
    content = save(tensors, metadata={"bherd": json.dumps(header), "sha256": BLANK})
    write_atomically(path, *seal(content))


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint back, onto the CPU, or raise `DamagedFileError` naming the file."""
    sealed = read_sealed(path)
    header = _header(path, sealed.metadata)
    tensors = load(sealed.content)
    own: Mapping[int, Tensor] = {}
    if "own" in tensors:
        own = dict(zip(tensors["own_clients"].tolist(), tensors["own"], strict=True))
    return Checkpoint(
        State(header["round"], tensors["params"], tensors.get("buffers"), tensors["shared"], own),
        _marks(header),
        Origin(**header["origin"]),
        header["seconds"],
        header["diverged_at"],
    )


def read_marks(path: Path) -> dict[str, Mark]:
    """How much of each log a checkpoint vouches for."""
    return _marks(_header(path, read_sealed(path).metadata))


def move(state: State, device: str) -> State:
    """A state on another device."""
    return State(
        state.round,
        state.params.to(device),
        None if state.buffers is None else state.buffers.to(device),
        state.shared.to(device),
        {client: own.to(device) for client, own in state.own.items()},
    )


def _header(path: Path, metadata: Mapping[str, Any]) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(metadata["bherd"])
    if header["format"] != FORMAT:
        raise DamagedFileError(
            f"{path} has format {header['format']}, but this version of bherd reads {FORMAT}: "
            "resume it with the version named in config.toml"
        )
    return header


def _marks(header: Mapping[str, Any]) -> dict[str, Mark]:
    return {name: Mark(*mark) for name, mark in header["marks"].items()}
