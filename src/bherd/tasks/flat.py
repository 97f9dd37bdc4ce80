"""Between a module and flat arrays: parameters (d,), and the buffers that are no parameters."""

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn


def trainable(module: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """The named parameters that training moves, in the module's order."""
    return [(name, p) for name, p in module.named_parameters() if p.requires_grad]


def ravel(module: nn.Module) -> Tensor:
    """A copy of the trainable parameters as one vector of shape (d,)."""
    return torch.cat([p.detach().reshape(-1) for _, p in trainable(module)])


def unravel(module: nn.Module, flat: Tensor) -> dict[str, Tensor]:
    """Views of a vector of shape (d,), named and shaped as the module's trainable parameters."""
    return {
        name: piece.view_as(p)
        for (name, p), piece in zip(trainable(module), pieces(module, flat), strict=True)
    }


def pieces(module: nn.Module, flat: Tensor) -> Iterator[Tensor]:
    """The part of a vector of shape (d,) that belongs to each trainable parameter, in order."""
    yield from torch.split(flat, [p.numel() for _, p in trainable(module)])


def ravel_buffers(module: nn.Module) -> Tensor | None:
    """The persistent buffers (BatchNorm statistics and counts) as one float64 vector, or None."""
    buffers = [b.detach().reshape(-1).to(torch.float64) for _, b in persistent_buffers(module)]
    return torch.cat(buffers) if buffers else None


def load_buffers(module: nn.Module, flat: Tensor | None) -> None:
    """Write a vector of buffers back into the module; whole-number buffers are rounded."""
    if flat is None:
        return
    with torch.no_grad():
        named = persistent_buffers(module)
        for (_, buffer), piece in zip(named, torch.split(flat, [b.numel() for _, b in named]), strict=True):
            values = piece if buffer.is_floating_point() else piece.round()
            buffer.copy_(values.view_as(buffer))


def persistent_buffers(module: nn.Module) -> list[tuple[str, Tensor]]:
    """The named buffers that belong to the module's state."""
    state = module.state_dict()
    return [(name, buffer) for name, buffer in module.named_buffers() if name in state]


def state_of(module: nn.Module, params: Tensor, buffers: Tensor | None) -> dict[str, Any]:
    """What `load_state_dict(strict=True)` takes: parameters, buffers and all that training does not move.

    Args:
        module: what the vectors belong to; it stays as it is.
        params: the trainable parameters, of shape (d,).
        buffers: the buffers as one vector, or None to take the module's own.

    Returns:
        Copies by name, tied weights under each of their names.
    """
    moved = copy.deepcopy(module)
    load_buffers(moved, buffers)
    with torch.no_grad():
        for (_, parameter), piece in zip(trainable(moved), pieces(moved, params), strict=True):
            parameter.copy_(piece.view_as(parameter))
    return {
        name: value.clone(memory_format=torch.contiguous_format) if isinstance(value, Tensor) else value
        for name, value in moved.state_dict().items()
    }
