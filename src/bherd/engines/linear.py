"""Linear models on the CPU: outputs f = x W^T + b, whose gradient is known in closed form.

With r = dF/df, the derivative of the batch's mean loss, the gradient is (r^T x + lambda W, column sums
of r): no autograd is needed. Two implementations: `linear_numpy` needs nothing more and starts at once,
`linear_compiled` is several times faster on large data.
"""

import math
from abc import ABC, abstractmethod
from typing import TypeGuard

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from bherd.loop.client import SumKept, Work
from bherd.loop.state import Split
from bherd.stores import Rows
from bherd.stores.base import Traced
from bherd.tasks.flat import trainable
from bherd.tasks.losses import class_hits, cross_entropy, sign_hits, squared_hinge
from bherd.tasks.task import Task


def has_closed_form(task: Task) -> bool:
    """Whether loss, metric, module and data are those that the closed forms are written for."""
    model, module, x = task.model, task.model.module, task.x_train
    if not _is_plain_linear(module) or x.ndim != 2 or x.device.type != "cpu":
        return False
    outputs, features = module.weight.shape
    if x.shape[1] != features or module.weight.dtype != x.dtype or task.x_test.dtype != x.dtype:
        return False
    targets = (task.y_train, task.y_test)
    if any(y.ndim != 1 for y in targets):
        return False
    if model.loss is squared_hinge and model.hits is sign_hits:
        return outputs == 1 and all(y.dtype == x.dtype for y in targets)
    if model.loss is cross_entropy and model.hits is class_hits:
        return all(y.dtype == torch.int64 and _within(y, outputs) for y in targets)
    return False


def _is_plain_linear(module: nn.Module) -> TypeGuard[nn.Linear]:
    """Whether outputs are x W^T + b, and W and b are trained, with nothing hooked in between."""
    hooks = (
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
    )
    names = [name for name, _ in trainable(module)]
    return type(module) is nn.Linear and names == ["weight", "bias"] and not any(hooks)


def _within(targets: Tensor, classes: int) -> bool:
    return len(targets) == 0 or (int(targets.min()) >= 0 and int(targets.max()) < classes)


class Linear(ABC):
    """Training and evaluation of a task's linear model."""

    @abstractmethod
    def train(self, work: Work, rows: Rows) -> float:
        """Local training of one client into `rows`; returns the mean of the batch losses.

        It is NaN if a weight became infinite or NaN, so that callers need not scan the gradients.
        """

    @abstractmethod
    def measure(self, params: Tensor, split: Split, rows: slice) -> tuple[float, int]:
        """Summed loss without penalty, and correct predictions, of some rows of a split."""

    def sum_kept(self, traced: Traced) -> SumKept | None:
        """A way to sum the kept gradients of a trace that is faster than the usual one, if there is one."""
        del traced
        return None


def if_finite(loss: float, weights: npt.NDArray[np.floating]) -> float:
    """The loss, or NaN where a weight is infinite or NaN."""
    return loss if np.isfinite(weights).all() else math.nan


def penalty(params: Tensor, outputs: int, decay: float) -> float:
    """(lambda / 2) ||W||^2, biases being free."""
    weights = params[: len(params) - outputs]
    return 0.5 * decay * float(weights @ weights) if decay else 0.0
