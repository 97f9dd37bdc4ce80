"""What every engine offers to the round loop."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from torch import Tensor

from bherd.client import Outcome
from bherd.generators import seeded
from bherd.snapshots import due
from bherd.streams import stream

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Local:
    """The settings of local training, the same for every client."""

    batch_size: int
    epochs: float
    lr: float
    reshuffle: bool
    seed: int
    snapshot_every: int = 0

    def shuffle(self, round: int, client: int) -> np.random.Generator | None:
        """The stream of this round's sample orders, or None where the order is fixed."""
        return stream(self.seed, "shuffle", round, client) if self.reshuffle else None

    def selector_stream(self, round: int, client: int) -> np.random.Generator:
        """The stream that the selector may draw from."""
        return stream(self.seed, "select", round, client)

    def snapshot(self, round: int) -> bool:
        """Whether the gradients of this round are to be pictured."""
        return due(self.snapshot_every, round)

    def seeded(self, round: int, client: int) -> AbstractContextManager[None]:
        """The generators of the process, seeded for what the model draws in one client's round."""
        return seeded(self.seed, "model", round, client)

    def seeded_evaluation(self, split: Split) -> AbstractContextManager[None]:
        """The same for an evaluation: every one draws the same numbers."""
        return seeded(self.seed, f"evaluate {split}")


class State(NamedTuple):
    """Everything that a federation carries from one round to the next."""

    round: int
    params: Tensor
    buffers: Tensor | None
    shared: Tensor
    """The correction's state on the server."""
    own: Mapping[int, Tensor]
    """The correction's state on each client; a client not in here has zeros."""


class Evaluation(NamedTuple):
    """Loss over all training samples (NaN if not asked for), loss and accuracy on the test samples."""

    train_loss: float
    test_loss: float
    test_accuracy: float


class Engine(ABC):
    """Runs clients and evaluates models. Engines differ in speed, never in results."""

    @abstractmethod
    def run_clients(self, state: State, clients: Sequence[int]) -> list[Outcome]:
        """The round after `state` for these clients, in their order; may raise `DivergedError`."""

    @abstractmethod
    def evaluate(self, params: Tensor, buffers: Tensor | None, *, train: bool) -> Evaluation:
        """Loss and accuracy of a model."""

    @abstractmethod
    def close(self) -> None:
        """Give back threads and memory."""
