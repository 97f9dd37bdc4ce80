"""FedAvg of a linear model in numpy, with nothing that could be left out."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bherd.tasks.losses import squared_hinge
from bherd.tasks.task import Task

Floats = npt.NDArray[np.float32]


class NumpyLoop:
    """The same data, orders and steps as ours; one call is one round."""

    def __init__(
        self, task: Task, batch: int, lr: float, cohort: Callable[[], Sequence[int]], evaluate: bool
    ) -> None:
        self.hinge = task.model.loss is squared_hinge
        self.clients = [tuple(t.numpy() for t in task.samples(client)) for client in range(task.clients)]
        self.test = task.x_test.numpy(), task.y_test.numpy()
        self.batch, self.lr, self.cohort, self.evaluate = batch, np.float32(lr), cohort, evaluate
        self.decay = np.float32(task.model.decay)
        outputs = 1 if self.hinge else task.classes
        self.w = np.zeros((task.x_train.shape[1], outputs), np.float32)
        self.b = np.zeros(outputs, np.float32)
        self.accuracies: list[float] = []

    def round(self) -> None:
        chosen = self.cohort()
        total = sum(len(self.clients[client][1]) for client in chosen)
        mean_w, mean_b = np.zeros_like(self.w), np.zeros_like(self.b)
        for client in chosen:
            x, y = self.clients[client]
            w, b = self._local(x, y)
            share = np.float32(len(y) / total)
            mean_w += share * w
            mean_b += share * b
        self.w, self.b = mean_w, mean_b
        if self.evaluate:
            x, y = self.test
            outputs = x @ self.w + self.b
            right = (outputs[:, 0] > 0) == (y > 0) if self.hinge else outputs.argmax(1) == y
            self.accuracies.append(float(right.mean()))

    def _local(self, x: Floats, y: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        w, b = self.w.copy(), self.b.copy()
        derivative = _hinge if self.hinge else _softmax
        for start in range(0, len(y) - self.batch + 1, self.batch):
            inputs = x[start : start + self.batch]
            residual = derivative(inputs @ w + b, y[start : start + self.batch])
            gradient = inputs.T @ residual
            if self.decay:
                gradient += self.decay * w
            w -= self.lr * gradient
            b -= self.lr * residual.sum(0)
        return w, b


def _hinge(outputs: Floats, y: Floats) -> Floats:
    signs = y[:, None]
    return -signs * np.maximum(0, 1 - signs * outputs) / np.float32(len(y))


def _softmax(outputs: Floats, y: npt.NDArray[np.int64]) -> Floats:
    p = np.exp(outputs - outputs.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    return p / np.float32(len(y))
