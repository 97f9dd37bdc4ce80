"""The checkpoint: everything that the next round needs, in one safetensors file."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from bherd.engines.base import State
from bherd.errors import DamagedFileError
from bherd.runs.files import Mark, write_atomically

FORMAT = 1


class Checkpoint(NamedTuple):
    """A state, the logs as they were when it was reached, and the run it belongs to."""

    state: State
    marks: dict[str, Mark]
    """The length and hash of each log, by file name."""
    settings: dict[str, Any]
    """The configuration and the data's fingerprint, to notice a resume that no longer matches."""
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
        "marks": {name: list(mark) for name, mark in checkpoint.marks.items()},
        "settings": checkpoint.settings,
        "seconds": checkpoint.seconds,
        "diverged_at": checkpoint.diverged_at,
        "sha256": _digest(tensors),
    }
    write_atomically(path, save(tensors, metadata={"bherd": json.dumps(header)}))


def load_checkpoint(path: Path, device: str) -> Checkpoint:
    """Read a checkpoint back, or raise `DamagedFileError` naming the file."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            header = json.loads((file.metadata() or {})["bherd"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error
    if header["format"] != FORMAT:
        raise DamagedFileError(
            f"{path} has format {header['format']}, but this version of bherd reads {FORMAT}"
        )
    if _digest(tensors) != header["sha256"]:
        raise DamagedFileError(f"{path} is damaged: its contents do not match their checksum")
    moved = {name: tensor.to(device) for name, tensor in tensors.items()}
    own: Mapping[int, Tensor] = {}
    if "own" in moved:
        own = dict(zip(tensors["own_clients"].tolist(), moved["own"], strict=True))
    return Checkpoint(
        State(header["round"], moved["params"], moved.get("buffers"), moved["shared"], own),
        {name: Mark(*mark) for name, mark in header["marks"].items()},
        header["settings"],
        header["seconds"],
        header["diverged_at"],
    )


def _digest(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()
