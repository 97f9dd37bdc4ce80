"""What a federation carries from round to round, and the settings that stay the same."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bherd.generators import seeded
from bherd.loop.snapshots import due
from bherd.method import Method
from bherd.streams import stream
from bherd.tasks.flat import ravel, ravel_buffers
from bherd.tasks.task import Task

Split = Literal["train", "test"]


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


@dataclass(frozen=True)
class Schedule:
    """How many rounds, with whom, and when to look."""

    rounds: int
    participation: int | float
    epochs: float
    lr: float
    seed: int
    eval_every: int = 1
    eval_train: bool = True


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


def start_state(task: Task, method: Method) -> State:
    """The federation before its first round."""
    params = ravel(task.model.module)
    shared = torch.zeros_like(params) if method.correction.stateful else params.new_zeros(0)
    return State(0, params, ravel_buffers(task.model.module), shared, {})
