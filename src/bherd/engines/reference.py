"""The reference engine: the paper's pseudo-code in plain loops, by autograd, one client at a time.

This is the text to check the fast engine against, and the oracle of the tests. It is written to be
read, not to be quick.
"""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from bherd.engines.evaluation import AT_ONCE, joined, starts
from bherd.engines.trial import try_out
from bherd.loop.client import Outcome, Training, Work, begin_round, finish_round
from bherd.loop.engine import Engine
from bherd.loop.state import Evaluation, Local, State
from bherd.loop.visits import batches
from bherd.method import Method
from bherd.tasks.flat import load_buffers, ravel_buffers, unravel
from bherd.tasks.task import Task


class ReferenceEngine(Engine):
    """Plain loops."""

    def __init__(self, task: Task, method: Method, local: Local) -> None:
        # a module of its own: training moves the buffers, and the task's module stays at the start
        model = task.model._replace(module=copy.deepcopy(task.model.module))
        self.task, self.method, self.local = task._replace(model=model), method, local
        try_out(task, local.batch_size)

    def run_clients(self, state: State, clients: Sequence[int]) -> list[Outcome]:
        outcomes = []
        for client in clients:
            work = begin_round(self.method, self.local, state, client, self.task.size(client))
            outcomes.append(finish_round(work, self._train(work), self.local, state.server))
        return outcomes

    def _train(self, work: Work) -> Training:
        task, local, module = self.task, self.local, self.task.model.module
        x, y = task.samples(work.client)
        load_buffers(module, work.buffers)
        module.train()
        w, trace, losses = work.params.clone(), [], []
        memory = work.optimizer.init(work.params)
        with local.seeded(work.round, work.client):
            for inputs, targets in batches(work.plan, x, y, work.visits):
                loss, gradient = loss_and_gradient(task, w, inputs, targets)
                if work.terms.offset is not None:
                    gradient = gradient + work.terms.offset
                if work.terms.pull:
                    gradient = gradient + work.terms.pull * (w - work.params)
                direction, memory = work.optimizer.direction(memory, gradient, w)
                w = w - work.lr * direction
                trace.append(direction)
                losses.append(loss)
        return Training(torch.stack(trace), sum(losses) / len(losses), ravel_buffers(module))

    def evaluate(self, params: Tensor, buffers: Tensor | None, *, train: bool) -> Evaluation:
        task, module = self.task, self.task.model.module
        load_buffers(module, buffers)
        module.eval()
        named = unravel(module, params)
        penalty = penalty_of(task, params)
        with torch.no_grad(), self.local.seeded_evaluation("test"):
            outputs = outputs_of(module, named, task.x_test)
            test_loss = float(task.model.loss(outputs, task.y_test) + penalty)
            accuracy = float(task.model.hits(outputs, task.y_test)) / len(task.y_test)
        if not train:
            return Evaluation(float("nan"), test_loss, accuracy)
        with torch.no_grad(), self.local.seeded_evaluation("train"):
            outputs = outputs_of(module, named, task.x_train)
            train_loss = float(task.model.loss(outputs, task.y_train) + penalty)
        return Evaluation(train_loss, test_loss, accuracy)

    def close(self) -> None:
        return


def outputs_of(module: nn.Module, named: dict[str, Tensor], x: Tensor) -> Any:
    """What the module gives out for all samples, with these parameters."""
    parts = [functional_call(module, named, x[start : start + AT_ONCE]) for start in starts(len(x))]
    return joined(parts, len(x))


def loss_and_gradient(task: Task, w: Tensor, x: Tensor, y: Tensor) -> tuple[float, Tensor]:
    """F(w; batch) and its gradient, of shape (d,), by autograd."""
    w = w.detach().requires_grad_()
    outputs = functional_call(task.model.module, unravel(task.model.module, w), x)
    loss = task.model.loss(outputs, y) + penalty_of(task, w)
    (gradient,) = torch.autograd.grad(loss, w)
    return float(loss.detach()), gradient


def penalty_of(task: Task, w: Tensor) -> Tensor:
    """(lambda / 2) ||weights||^2; biases, which have one dimension, are free."""
    if task.model.decay == 0.0:
        return torch.zeros((), dtype=w.dtype, device=w.device)
    weights = [v for v in unravel(task.model.module, w).values() if v.ndim > 1]
    return 0.5 * task.model.decay * torch.stack([v.square().sum() for v in weights]).sum()
