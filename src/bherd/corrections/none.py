"""No correction: clients follow their own gradients (FedAvg, FedNova)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from bherd.corrections import base
from bherd.method import Correction
from bherd.parts.part import Tensors
from bherd.parts.records import Terms


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


@final
@dataclass(frozen=True)
class NoCorrection(base.Correction):
    """Gradients as they are: w <- w - eta grad. Nothing is stored, nothing more is sent.

    McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data" (2017).

    Use it where clients' data are alike or their steps few, and as the control of every other correction.
    """

    def terms(self, client: Tensors, server: Tensors) -> Terms:
        del client, server
        return Terms()
