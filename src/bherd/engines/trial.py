"""A trial before the first round: does the model draw random numbers, and would it give the same again?"""

import copy
import math
import warnings
from typing import NamedTuple

import torch
from torch import Tensor

from bherd.errors import InputError
from bherd.generators import Watch, preserved, seeded
from bherd.tasks.flat import load_buffers, ravel_buffers, trainable
from bherd.tasks.losses import is_mean
from bherd.tasks.models import Model
from bherd.tasks.task import Task

_SAME = 1e-5
"""Losses that differ by less may differ by the order of sums on a GPU."""


class Trial(NamedTuple):
    """Whether the model draws from the generators that a process shares."""

    in_training: bool
    in_evaluation: bool


def try_out(task: Task, batch_size: int) -> Trial:
    """Pass a few samples through a copy of the model, forwards and backwards.

    A loss by name takes two samples; a user's own may need a batch of the size that it is made for.

    Raises `InputError` where the loss compares every output with every target, or where the model does
    not give the same loss again.
    """
    first = next(client for client in range(task.clients) if task.size(client) > 0)
    x, y = (part[: 2 if is_mean(task.model.loss) else batch_size] for part in task.samples(first))
    model = task.model._replace(module=copy.deepcopy(task.model.module))
    buffers = ravel_buffers(model.module)
    with preserved():
        losses, draws = zip(*(_step(model, buffers, x, y) for _ in range(2)), strict=True)
        if not math.isclose(*losses, rel_tol=_SAME) and all(math.isfinite(loss) for loss in losses):
            raise InputError(
                f"model {model.name!r}: two passes over the same samples with the same seeds gave losses of "
                f"{losses[0]:.6g} and {losses[1]:.6g}, so that no run could be repeated or resumed. Let it "
                "draw from torch's, numpy's or Python's own generator, which we seed, and count in buffers."
            )
        watch = Watch()
        model.module.eval()
        with torch.no_grad():
            model.module(x)
        return Trial(any(draws), watch.drew())


def _step(model: Model, buffers: Tensor | None, x: Tensor, y: Tensor) -> tuple[float, bool]:
    """The loss of one training pass, and whether it drew."""
    load_buffers(model.module, buffers)
    model.module.train()
    with seeded(0, "trial"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        watch = Watch()
        loss = model.loss(model.module(x), y)
        parameters = [p for _, p in trainable(model.module)]
        torch.autograd.grad(loss, parameters, allow_unused=True)
        drew = watch.drew()
    for warning in caught:
        told = str(warning.message)
        if told.startswith("Using a target size"):
            raise InputError(
                f"loss: {told.partition('. ')[0]}, so that it would compare every output with every target. "
                "Give both the same shape, for example by outputs.squeeze(1)."
            )
    return float(loss.detach()), drew
