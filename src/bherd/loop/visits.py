"""Which samples a local step sees: the only answer, for engines, report and paper alike."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bherd.errors import InputError
from bherd.exact import decimal
from bherd.method import Indices


class Plan(NamedTuple):
    """The local steps of one client: how many, of which size, and how many make an epoch."""

    steps: int
    batch: int
    per_epoch: int


@lru_cache(maxsize=1024)
def plan_steps(size: int, batch_size: int, epochs: float) -> Plan:
    """tau = max(1, floor(E |D| / B)); the last partial batch is dropped.

    A client with fewer than B samples uses one batch of all of them.

    >>> plan_steps(size=250, batch_size=100, epochs=1.5)
    Plan(steps=3, batch=100, per_epoch=2)
    """
    if size < 1 or batch_size < 1:
        raise InputError(f"no batch of {batch_size} can be taken from {size} samples")
    steps = max(1, math.floor(decimal(epochs) * Fraction(size, batch_size)))
    return Plan(steps, min(batch_size, size), max(1, size // batch_size))


def batches(
    plan: Plan, x: Tensor, y: Tensor, shuffle: np.random.Generator | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """The client's batches, step by step: first ones first, round again after an epoch.

    With a `shuffle` stream every epoch begins with a new order of all samples.
    """
    for step in range(plan.steps):
        position = step % plan.per_epoch
        rows = slice(position * plan.batch, (position + 1) * plan.batch)
        if shuffle is None:
            yield x[rows], y[rows]
            continue
        if position == 0:
            visit = torch.from_numpy(shuffle.permutation(len(x))).to(x.device)
        yield x[visit[rows]], y[visit[rows]]


def all_visits(plan: Plan, size: int, shuffle: np.random.Generator | None) -> Indices:
    """The samples of all steps, one after the other; the draws are those of `tasks.task.batches`."""
    epoch = plan.per_epoch * plan.batch
    total = plan.steps * plan.batch
    epochs = -(-total // epoch)
    if shuffle is None:
        order = np.arange(epoch, dtype=np.int64)
        return order[:total] if epochs == 1 else np.tile(order, epochs)[:total]
    return np.concatenate([shuffle.permutation(size)[:epoch] for _ in range(epochs)])[:total]
