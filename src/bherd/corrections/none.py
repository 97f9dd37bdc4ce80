"""No correction: clients follow their own gradients (FedAvg, FedNova)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from bherd.method import Correction


def no_correction() -> Correction:
    """Gradients as they are: w <- w - eta grad. Nothing is stored, nothing more is sent."""
    return Correction("none", stateful=False, offset=_offset, finish=_finish, combine=_combine)


def _offset(own: Tensor, shared: Tensor) -> Tensor:
    del shared
    return torch.zeros_like(own)


def _finish(own: Tensor, shared: Tensor, mean_kept: Tensor) -> tuple[Tensor, Tensor]:
    del shared, mean_kept
    return own, torch.zeros_like(own)


def _combine(shared: Tensor, extras: Sequence[Tensor], clients: int) -> Tensor:
    del extras, clients
    return shared
