"""What parts remember, as flat names for files and messages. It knows no part: it walks the names.

The server's memory becomes 'server/AXIS/NAME'. The clients' becomes three tensors for each axis and name:
'clients/AXIS/NAME', all values one after the other; '.ids', whose they are; '.shapes', a row for each.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from bherd.errors import InputError
from bherd.loop.state import Memory

_SERVER, _CLIENTS, _IDS, _SHAPES = "server/", "clients/", ".ids", ".shapes"


def pack_server(memory: Memory) -> dict[str, Tensor]:
    """The server's memory under flat names."""
    return {f"{_SERVER}{name}": tensor for name, tensor in flat(memory).items()}


def unpack_server(tensors: Mapping[str, Tensor]) -> Memory:
    """The server's memory among flat names."""
    return nested({name[len(_SERVER) :]: t for name, t in tensors.items() if name.startswith(_SERVER)})


def pack_clients(clients: Mapping[int, Memory]) -> dict[str, Tensor]:
    """The memory of all clients under flat names."""
    by_name: dict[str, dict[int, Tensor]] = {}
    for client in sorted(clients):
        for name, tensor in flat(clients[client]).items():
            by_name.setdefault(name, {})[client] = tensor
    packed: dict[str, Tensor] = {}
    for name, tensors in by_name.items():
        if len({(tensor.dtype, tensor.ndim) for tensor in tensors.values()}) > 1:
            raise InputError(f"{name}: clients remember tensors of several types: must be one for all.")
        key, values = f"{_CLIENTS}{name}", list(tensors.values())
        packed[key] = torch.cat([tensor.reshape(-1) for tensor in values])
        packed[key + _IDS] = torch.tensor(list(tensors), dtype=torch.int64)
        packed[key + _SHAPES] = torch.tensor([tensor.shape for tensor in values], dtype=torch.int64)
    return packed


def unpack_clients(tensors: Mapping[str, Tensor]) -> dict[int, Memory]:
    """The memory of all clients among flat names."""
    found: dict[int, dict[str, Tensor]] = {}
    for key, values in tensors.items():
        if not key.startswith(_CLIENTS) or key.endswith((_IDS, _SHAPES)):
            continue
        shapes = tensors[key + _SHAPES]
        sizes = shapes.prod(1).tolist()
        parts = zip(tensors[key + _IDS].tolist(), torch.split(values, sizes), shapes.tolist(), strict=True)
        for client, part, shape in parts:
            found.setdefault(client, {})[key[len(_CLIENTS) :]] = part.reshape(shape)
    return {client: nested(memory) for client, memory in found.items()}


def flat(memory: Memory) -> dict[str, Tensor]:
    """axis -> name -> tensor as 'axis/name' -> tensor."""
    return {f"{axis}/{name}": tensor for axis, named in memory.items() for name, tensor in named.items()}


def nested(tensors: Mapping[str, Tensor]) -> Memory:
    """The inverse of `flat`."""
    memory: dict[str, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        axis, _, name = key.partition("/")
        memory.setdefault(axis, {})[name] = tensor
    return memory


def on_device(memory: Memory, device: str | torch.device) -> Memory:
    """The same memory on another device."""
    return {axis: {name: t.to(device) for name, t in named.items()} for axis, named in memory.items()}
