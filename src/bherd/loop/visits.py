"""Which samples a local step sees: the only answer, for engines, report and paper alike."""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from bherd.errors import InputError
from bherd.exact import decimal
from bherd.indices import Indices
from bherd.parts.records import Plan


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


def batches(plan: Plan, x: Tensor, y: Tensor, visits: Indices | None) -> Iterator[tuple[Tensor, Tensor]]:
    """The client's batches, step by step; without `visits` first ones first, again after an epoch."""
    rows = None if visits is None else torch.from_numpy(visits).to(x.device)
    for step in range(plan.steps):
        if rows is None:
            part = batch_rows(plan, step)
            yield x[part], y[part]
        else:
            chosen = rows[step * plan.batch : (step + 1) * plan.batch]
            yield x[chosen], y[chosen]


def batch_rows(plan: Plan, step: int) -> slice:
    """The samples of a step where clients go through them in order."""
    position = step % plan.per_epoch
    return slice(position * plan.batch, (position + 1) * plan.batch)


def all_visits(plan: Plan, visits: Indices | None) -> Indices:
    """The samples of all steps, one after the other, also where clients go through them in order."""
    if visits is not None:
        return visits
    epoch, total = plan.per_epoch * plan.batch, plan.steps * plan.batch
    order = np.arange(epoch, dtype=np.int64)
    return order[:total] if total <= epoch else np.tile(order, -(-total // epoch))[:total]
