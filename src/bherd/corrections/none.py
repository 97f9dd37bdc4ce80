"""No correction: clients follow their own gradients (FedAvg, FedNova)."""

from dataclasses import dataclass
from typing import final

from bherd.corrections.base import Correction
from bherd.parts.part import Tensors
from bherd.parts.records import Terms


@final
@dataclass(frozen=True)
class NoCorrection(Correction):
    """Gradients as they are: w <- w - eta grad. Nothing is stored, nothing more is sent.

    McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data" (2017).

    Use it where clients' data are alike or their steps few, and as the control of every other correction.
    """

    def terms(self, client: Tensors, server: Tensors) -> Terms:
        del client, server
        return Terms()
