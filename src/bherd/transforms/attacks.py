"""Attacks, for studies of aggregations that withstand them: some clients send what they should not."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.parts.checks import check_clients, check_positive
from bherd.parts.part import Tensors
from bherd.parts.records import Sent
from bherd.transforms.base import Transform
from bherd.transforms.size import full_size

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class Attack(Transform):
    """Base of the attacks: the listed clients change their updates, all others send theirs as they are."""

    clients: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        check_clients(self.clients)

    def send(self, state: Tensors, update: "Tensor", client: int, stream: "np.random.Generator") -> Sent:
        sent = self.attacked(update, stream) if client in self.clients else update
        return Sent(sent, state, full_size(update))

    @abstractmethod
    def attacked(self, update: "Tensor", stream: "np.random.Generator") -> "Tensor":
        """What a listed client sends instead of its update."""


@dataclass(frozen=True)
class SignFlip(Attack):
    """The listed clients send -scale u: a step back from where they should go.

    Li et al., "RSA: Byzantine-Robust Stochastic Aggregation Methods for Distributed Learning from
    Heterogeneous Datasets" (2019). A study, not a method to use: put `median`, `trimmed` or `krum` at
    the server and see what is left of the harm.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("scale", self.scale)

    def attacked(self, update: "Tensor", stream: "np.random.Generator") -> "Tensor":
        del stream
        return -self.scale * update


@dataclass(frozen=True)
class NoiseAttack(Attack):
    """The listed clients send N(0, std² I) in place of u.

    The Gaussian attack of Blanchard et al., "Machine Learning with Adversaries: Byzantine Tolerant Gradient
    Descent" (2017). A study, not a method to use.
    """

    std: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("std", self.std)

    def attacked(self, update: "Tensor", stream: "np.random.Generator") -> "Tensor":
        import torch

        return torch.from_numpy(self.std * stream.standard_normal(update.numel())).to(update)


@dataclass(frozen=True)
class ScaledAttack(Attack):
    """The listed clients send factor u: they shout to be heard above the others.

    The scaling of Bagdasaryan et al., "How To Backdoor Federated Learning" (2020), without a back door. A
    study, not a method to use; `clip` is what bounds it.
    """

    factor: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("factor", self.factor)

    def attacked(self, update: "Tensor", stream: "np.random.Generator") -> "Tensor":
        del stream
        return self.factor * update
