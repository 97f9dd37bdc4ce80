"""What a simulator is given and what it gives back. Needs numpy and torch, and nothing of ours.

Each of the `with_` modules is started as a process: the path of a workload's file is its first argument,
and its last line of output is a result that `measure` reads.
"""

import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

MARK = "RESULT "

Pair = tuple[Tensor, Tensor]


class Handout(NamedTuple):
    """A workload, read from its file."""

    name: str
    batch: int
    lr: float
    rounds: int
    evaluate_last_only: bool
    threads: int
    clients: list[Pair]
    """The samples of each client, in the order in which they are visited."""
    test: Pair
    cohorts: list[list[int]]
    """Who takes part, round by round."""
    start: dict[str, Tensor]
    """The starting point, by the names of the module's parameters."""

    @property
    def share(self) -> float:
        """The share of the clients that takes part."""
        return len(self.cohorts[0]) / len(self.clients)

    def due(self, number: int) -> bool:
        """Whether the model is evaluated after this round, counted from 1."""
        return number == self.rounds or not self.evaluate_last_only

    def size(self, client: int) -> int:
        return len(self.clients[client][1])

    def batches(self, client: int) -> list[Pair]:
        """A client's samples as slices in memory."""
        x, y = self.clients[client]
        return list(zip(x.split(self.batch), y.split(self.batch), strict=True))


def load(path: str) -> Handout:
    """Read a workload and give torch its threads."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    settings = json.loads(str(arrays["settings"]))
    torch.set_num_threads(settings["threads"])
    x, y = _inputs(arrays["x_train"]), torch.from_numpy(arrays["y_train"])
    bounds = arrays["bounds"].tolist()
    clients = [(x[a:b], y[a:b]) for a, b in pairwise(bounds)]
    test = _inputs(arrays["x_test"]), torch.from_numpy(arrays["y_test"])
    prefix = "start."
    start = {k.removeprefix(prefix): torch.from_numpy(v) for k, v in arrays.items() if k.startswith(prefix)}
    return Handout(**settings, clients=clients, test=test, cohorts=arrays["cohorts"].tolist(), start=start)


def _inputs(pixels: np.ndarray) -> Tensor:
    return torch.from_numpy(pixels).to(torch.float32).div_(255)


def build(handout: Handout) -> nn.Module:
    """The model at the starting point."""
    module = _cnn() if handout.name == "B" else nn.Linear(784, 1 if handout.name == "A" else 10)
    module.load_state_dict(handout.start)
    return module


def _cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 5, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(1568, 256),
        nn.ReLU(),
        nn.Linear(256, 10),
    )


def loss_of(handout: Handout) -> Callable[[Tensor, Tensor], Tensor]:
    """(outputs, targets) -> mean loss of a batch."""
    return squared_hinge if handout.name == "A" else functional.cross_entropy


def squared_hinge(outputs: Tensor, targets: Tensor) -> Tensor:
    """mean of 1/2 max(0, 1 - y f(x))^2."""
    return 0.5 * functional.relu(1 - targets * outputs.squeeze(1)).square().mean()


def hits(outputs: Tensor, targets: Tensor) -> int:
    """How many predictions are right: signs where there is one output, the largest output otherwise."""
    if outputs.shape[1] == 1:
        return int(((outputs.squeeze(1) > 0) == (targets > 0)).sum())
    return int((outputs.argmax(1) == targets).sum())


def accuracy(model: Callable[[Tensor], Tensor], test: Pair) -> float:
    """Test accuracy, a thousand samples at a time."""
    with torch.no_grad():
        pairs = zip(test[0].split(1000), test[1].split(1000), strict=True)
        return sum(hits(model(x), y) for x, y in pairs) / len(test[1])


def path_given() -> str:
    """The file of the workload, as `measure` passes it."""
    return sys.argv[1]


class Clock:
    """Notes when each round was over, its evaluation included, and the accuracy where there is one."""

    def __init__(self) -> None:
        self.ends: list[float] = []
        self.accuracy: float | None = None

    def round_over(self, reached: float | None = None) -> None:
        self.ends.append(time.time())
        if reached is not None:
            self.accuracy = reached


def report(clock: Clock) -> None:
    """Print the times of day at which rounds ended, the last accuracy and this process's peak memory."""
    answer = {"ends": clock.ends, "accuracy": clock.accuracy, "peak_bytes": _peak_bytes()}
    print(MARK + json.dumps(answer), flush=True)


def _peak_bytes() -> int:
    """The most memory that this program held; `ru_maxrss` would include that of its starter."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
