"""Linear models by numpy: two matrix products a step.

The arrays are small, so the loop is numpy's: its calls cost a third of torch's.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.engines.linear import Linear, if_finite
from bherd.engines.steps import Stepper
from bherd.indices import Indices
from bherd.loop.client import Work
from bherd.loop.state import Split
from bherd.loop.visits import batch_rows
from bherd.stores import Rows
from bherd.tasks.losses import squared_hinge
from bherd.tasks.task import Task

Floats = npt.NDArray[np.floating]


class NumpyLinear(Linear):
    """The task's arrays as they are."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._derivative = _hinge if task.model.loss is squared_hinge else _softmax

    @np.errstate(over="ignore", invalid="ignore")  # whoever calls looks for infinities itself
    def train(self, work: Work, rows: Rows) -> float:
        task, derivative, plan = self._task, self._derivative, work.plan
        x, y = (samples.numpy() for samples in task.samples(work.client))
        features = x.shape[1]
        outputs = len(work.params) // (features + 1)
        start = work.params.numpy()
        w = start.copy()
        weights, bias = w[: outputs * features].reshape(outputs, features), w[outputs * features :]
        shift = None if work.terms.offset is None else work.terms.offset.numpy()
        number = w.dtype.type
        decay, rate, pull = number(task.model.decay), number(work.lr), number(work.terms.pull)
        moved = np.empty_like(w)
        stepper = None if work.optimizer.is_plain() else Stepper(work, torch.from_numpy(w))
        visits = work.visits
        loss = 0.0
        for step in range(plan.steps):
            batch: slice | Indices = batch_rows(plan, step)
            if visits is not None:
                batch = visits[step * plan.batch : (step + 1) * plan.batch]
            inputs = x[batch]
            batch_loss, residual = derivative(inputs @ weights.T + bias, y[batch])
            row = rows.row(step)
            gradient = row.numpy()
            np.matmul(residual.T, inputs, out=gradient[: outputs * features].reshape(outputs, features))
            residual.sum(0, out=gradient[outputs * features :])
            loss += batch_loss
            if decay:
                flat = weights.reshape(-1)
                gradient[: outputs * features] += decay * flat
                loss += 0.5 * float(decay) * float(flat @ flat)
            if shift is not None:
                gradient += shift
            if pull:
                gradient += pull * (w - start)
            if stepper is None:
                np.multiply(gradient, rate, out=moved)
                w -= moved
            else:
                stepper.step(row)
            rows.done(step)
        return if_finite(loss / plan.steps, w)

    def measure(self, params: Tensor, split: Split, rows: slice) -> tuple[float, int]:
        task = self._task
        x, y = (task.x_train, task.y_train) if split == "train" else (task.x_test, task.y_test)
        inputs, targets = x[rows], y[rows]
        features = inputs.shape[1]
        count = len(params) // (features + 1)
        weights, bias = params[: count * features].view(count, features), params[count * features :]
        outputs = torch.addmm(bias, inputs, weights.T)
        return float(task.model.loss(outputs, targets)) * len(inputs), int(task.model.hits(outputs, targets))


def _hinge(outputs: Floats, targets: Floats) -> tuple[float, Floats]:
    """Mean of 1/2 max(0, 1 - y f)^2 and its derivative, -y max(0, 1 - y f) / B."""
    signs = targets[:, None]
    slack = np.maximum(0, 1 - signs * outputs)
    count = len(targets)
    loss = 0.5 * float(slack[:, 0] @ slack[:, 0]) / count
    slack *= signs
    slack *= slack.dtype.type(-1 / count)
    return loss, slack


def _softmax(outputs: Floats, targets: npt.NDArray[np.int64]) -> tuple[float, Floats]:
    """Mean cross entropy and its derivative, (softmax - one-hot) / B."""
    count = len(targets)
    picked = np.arange(count), targets
    outputs -= outputs.max(1, keepdims=True)
    exponentials = np.exp(outputs)
    sums = exponentials.sum(1, keepdims=True)
    loss = float((np.log(sums[:, 0]) - outputs[picked]).mean())
    exponentials /= sums
    exponentials[picked] -= 1
    exponentials *= exponentials.dtype.type(1 / count)
    return loss, exponentials
