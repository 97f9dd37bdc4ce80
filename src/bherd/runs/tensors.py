"""Named tensors in a sealed safetensors file: checkpoints, and the clients' own states of a federation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load, save
from torch import Tensor

from bherd.runs.files import write_atomically
from bherd.runs.seal import BLANK, read_sealed, seal


class TensorFile(NamedTuple):
    """The contents of such a file, on the CPU."""

    tensors: dict[str, Tensor]
    metadata: dict[str, Any]


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors by name, and texts of your own, atomically and with the SHA-256 of the file in it."""
    plain: dict[str, Tensor] = {}
    used: set[int] = set()
    for name, tensor in tensors.items():
        own = tensor.detach().cpu().contiguous()
        place = own.untyped_storage().data_ptr()
        plain[name] = own.clone() if place in used else own  # one memory under two names is refused
        used.add(place)
    write_atomically(path, *seal(save(plain, metadata={**metadata, "sha256": BLANK})))


def read_tensors(path: Path) -> TensorFile:
    """Read such a file back, or raise `DamagedFileError` naming it."""
    content, metadata = read_sealed(path)
    return TensorFile(load(content), metadata)
