"""What a federation carries from round to round, and the settings that stay the same."""

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from torch import Tensor

from bherd.generators import seeded
from bherd.loop.snapshots import due
from bherd.method import Method
from bherd.parts.part import Tensors
from bherd.parts.schedule import has_schedule, number_at
from bherd.streams import stream
from bherd.tasks.flat import ravel, ravel_buffers
from bherd.tasks.task import Task

Split = Literal["train", "test"]

Memory = Mapping[str, Tensors]
"""What parts remember: axis -> name -> tensor. An axis without memory is not in it."""


class State(NamedTuple):
    """Everything that a federation carries from one round to the next."""

    round: int
    params: Tensor
    buffers: Tensor | None
    server: Memory
    """What the parts on the server remember."""
    clients: Mapping[int, Memory]
    """What the parts on each client remember; a client not in here has not remembered anything yet."""


class Evaluation(NamedTuple):
    """Loss over all training samples (NaN if not asked for), loss and accuracy on the test samples."""

    train_loss: float
    test_loss: float
    test_accuracy: float


@dataclass(frozen=True)
class RunPlan:
    """How many rounds, with how many clients, and when to look."""

    rounds: int
    cohort: int | float
    epochs: float
    lr: float
    seed: int
    eval_every: int = 1
    eval_train: bool = True

    def at(self, round: int) -> "RunPlan":
        """With the numbers of a round in place of schedules."""
        if not has_schedule(self.epochs, self.lr):
            return self
        return replace(self, epochs=number_at(self.epochs, round), lr=number_at(self.lr, round))


@dataclass(frozen=True)
class Local:
    """The settings of local training, the same for every client."""

    batch_size: int
    epochs: float
    lr: float
    seed: int
    snapshot_every: int = 0

    def at(self, round: int) -> "Local":
        """With the numbers of a round in place of schedules; a batch size is rounded to a whole number."""
        if not has_schedule(self.batch_size, self.epochs, self.lr):
            return self
        size = max(1, math.floor(number_at(self.batch_size, round) + 0.5))
        return replace(
            self, batch_size=size, epochs=number_at(self.epochs, round), lr=number_at(self.lr, round)
        )

    def stream(self, purpose: str, round: int, client: int) -> np.random.Generator:
        """The random numbers that a part on a client may draw in a round."""
        return stream(self.seed, purpose, round, client)

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
    server = start_memory(method, params, task.clients)
    return State(0, params, ravel_buffers(task.model.module), server, {})


def start_memory(method: Method, params: Tensor, clients: int) -> Memory:
    """What the parts on the server remember before the first round."""
    memory = {
        "participation": method.participation.init(params, clients),
        "correction": method.correction.server_init(params),
        "server": method.server.init(params),
        "shipped": method.shipped.init(params),
    }
    return remembered(memory)


def remembered(memory: Memory) -> Memory:
    """Without the axes that remember nothing."""
    return {axis: tensors for axis, tensors in memory.items() if tensors}
