"""Linear models by the compiled kernels, reading pixels as bytes: for data that is large enough."""

import numpy as np
import torch
from torch import Tensor

from bherd.compiled import available
from bherd.engines import kernels
from bherd.engines.linear import Linear, if_finite
from bherd.engines.steps import Stepper
from bherd.indices import Indices
from bherd.loop.client import SumKept, Work
from bherd.loop.kept import KeptSum, random_distance, sum_kept
from bherd.loop.state import Split
from bherd.loop.visits import all_visits
from bherd.parts.records import Kept
from bherd.stores.base import Dense, Rows, Summed, Traced
from bherd.tasks.losses import squared_hinge
from bherd.tasks.task import Task

COMPILED_FROM = 2**23
"""Training sets with at least this many values use the compiled kernels, which take 0.3 s to load."""


def pays(task: Task) -> bool:
    """Whether to compile: a matter of the task's size alone, so that a run is the same everywhere."""
    return task.x_train.numel() >= COMPILED_FROM and available()


class CompiledLinear(Linear):
    """Holds the task's inputs as bytes where they are bytes / 255, else as they are."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._inputs = {"train": compact(task.x_train), "test": compact(task.x_test)}
        compiled = kernels.load()
        self._sum_kept = compiled.sum_kept
        hinge = task.model.loss is squared_hinge
        self._train = compiled.train_hinge if hinge else compiled.train_softmax
        self._measure = compiled.measure_hinge if hinge else compiled.measure_softmax

    def train(self, work: Work, rows: Rows) -> float:
        task, plan = self._task, work.plan
        held = task.held(work.client)
        inputs, scale = self._inputs["train"]
        start = work.params.numpy()
        w = start.copy()
        number = w.dtype.type
        shift = np.zeros_like(w) if work.terms.offset is None else work.terms.offset.numpy()
        pull, decay = number(work.terms.pull), number(task.model.decay)

        def run(visits: Indices, into: kernels.Array, keep_trace: bool, lr: float) -> float:
            return self._train(
                inputs[held],
                task.y_train[held].numpy(),
                visits,
                plan.batch,
                w,
                number(scale),
                decay,
                number(lr),
                shift,
                pull,
                start,
                into,
                keep_trace,
            )

        visits = all_visits(plan, work.visits)
        plain = work.optimizer.is_plain()
        if plain and isinstance(rows, Dense):
            loss = run(visits, rows.array.numpy(), True, work.lr)
        elif plain and isinstance(rows, Summed):
            loss = run(visits, rows.total.view(1, -1).numpy(), False, work.lr)
        else:
            loss, stepper = 0.0, Stepper(work, torch.from_numpy(w))
            for step in range(plan.steps):
                batch, row = visits[step * plan.batch : (step + 1) * plan.batch], rows.row(step)
                loss += run(batch, row.view(1, -1).numpy(), True, work.lr if plain else 0.0)
                if not plain:
                    stepper.step(row)
                rows.done(step)
        return if_finite(loss / plan.steps, w)

    def sum_kept(self, traced: Traced) -> SumKept | None:
        if not isinstance(traced, Dense):
            return None

        def sum_of(kept: Kept) -> KeptSum:
            if kept.weights is not None:
                return sum_kept(traced.trace, kept)
            trace = traced.array.numpy()
            total = np.empty(trace.shape[1], trace.dtype)
            distance, spread = self._sum_kept(trace, kept.indices, total)
            chance = random_distance(spread, len(trace), len(kept.indices))
            return KeptSum(torch.from_numpy(total), distance, chance)

        return sum_of

    def measure(self, params: Tensor, split: Split, rows: slice) -> tuple[float, int]:
        inputs, scale = self._inputs[split]
        targets = self._task.y_train if split == "train" else self._task.y_test
        w = params.numpy()
        return self._measure(inputs[rows], targets[rows].numpy(), w, w.dtype.type(scale))


def compact(x: Tensor) -> tuple[kernels.Array, float]:
    """Inputs as bytes and 1/255, if that is exactly what they are; otherwise as they are, and 1."""
    # Allocated by numpy, which asks for large pages: rows in any order are then found sooner.
    pixels = torch.from_numpy(np.empty(x.shape, np.uint8))
    for part, out in zip(torch.split(x, 1000), torch.split(pixels, 1000), strict=True):
        out.copy_(torch.mul(part, 255).round_().clamp_(0, 255))
        if not torch.equal(out.to(x.dtype).div_(255), part):
            return x.numpy(), 1.0
    return pixels.numpy(), 1 / 255
