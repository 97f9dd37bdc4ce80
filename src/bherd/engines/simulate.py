"""The default engine: the reference's results, fast, on one machine.

Clients are trained by a pool of threads, one client at a time in each; the heavy calls release the
interpreter lock. Every client's work runs on one core whatever the size of the pool, and every sum
over clients or samples has a fixed order, so that results do not depend on the number of workers.
"""

import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import torch
from torch import Tensor

from bherd.engines.autograd import FlatModule, divisible
from bherd.engines.evaluation import AT_ONCE, joined, starts
from bherd.engines.linear import Linear, has_closed_form, penalty
from bherd.engines.linear_compiled import CompiledLinear, pays
from bherd.engines.linear_numpy import NumpyLinear
from bherd.engines.trial import Trial, try_out
from bherd.generators import Repeatable
from bherd.loop.client import Outcome, SumKept, Training, Work, begin_round, finish_round
from bherd.loop.engine import Engine
from bherd.loop.kept import KeptSum, random_distance
from bherd.loop.state import Evaluation, Local, Split, State
from bherd.method import Method
from bherd.parts.records import Kept
from bherd.stores.base import Rows, Store, Summed, SummedTwice
from bherd.stores.memory import MemoryStore
from bherd.tasks.losses import is_count, is_mean
from bherd.tasks.task import Task

_LINEAR_CHUNK = 5000
_WORTH_A_THREAD = 2_000_000
"""Clients below this size (samples x parameters) are trained without threads."""

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class SimulateEngine(Engine):
    """Closed-form gradients for linear models, flat autograd for all others, clients in parallel."""

    def __init__(
        self, task: Task, method: Method, local: Local, workers: int = 1, store: Store | None = None
    ) -> None:
        self.task, self.method, self.local = task, method, local
        self._store = MemoryStore() if store is None else store
        self._linear = linear_of(task)
        trial = Trial(False, False) if self._linear is not None else try_out(task, local.batch_size)
        self._training, self._evaluation = (Repeatable(draws) for draws in trial)
        self._divisible = self._linear is None and divisible(task.model)
        self._workers = workers = max(1, workers)
        self._modules: queue.SimpleQueue[FlatModule] = queue.SimpleQueue()
        if self._linear is None:
            for _ in range(workers):
                self._modules.put(FlatModule(task.model))
        self._threads_before = torch.get_num_threads()
        torch.set_num_threads(1)
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None

    def run_clients(self, state: State, clients: Sequence[int]) -> list[Outcome]:
        if self._linear is not None:
            return self._run_clients(state, clients)
        return self._training.do(lambda: self._run_clients(state, clients))

    def _run_clients(self, state: State, clients: Sequence[int]) -> list[Outcome]:
        def run(client: int, assistant: Executor | None = None) -> Outcome:
            work = begin_round(self.method, self.local, state, client, self.task.size(client))
            return finish_round(work, self._train(work, assistant), self.local, state.server)

        if self._training.draws:
            # the generators for Dropout and the like are the same for all threads: one client at a time
            return [run(client) for client in clients]
        largest = max(self.task.size(client) for client in clients) * len(state.params)
        if largest < _WORTH_A_THREAD:
            return [run(client) for client in clients]
        shared = self._to_share(len(clients))
        outcomes = self._map(run, clients[: len(clients) - shared])
        return outcomes + [run(client, self._pool) for client in clients[len(outcomes) :]]

    def _to_share(self, clients: int) -> int:
        """How many clients are left when all workers have had the same number of them.

        If their batches can be divided, they are trained one after the other by two workers each.
        """
        left = clients % self._workers
        return left if self._divisible and 2 * left <= self._workers else 0

    def _train(self, work: Work, assistant: Executor | None) -> Training:
        loss_tells = self._linear is not None
        if not work.keep_trace:
            summed = Summed(work.params)
            loss, buffers = self._steps(work, summed, assistant)
            return Training(summed.total, loss, buffers, loss_tells=loss_tells)

        def replay(kept: Kept) -> KeptSum:
            again = SummedTwice(work.params, kept)
            self._steps(work, again, assistant)
            chance = random_distance(again.spread(), work.plan.steps, len(kept.indices))
            return KeptSum(again.kept_sum, again.distance(), chance)

        traced = self._store.rows(work.plan.steps, work.params)
        loss, buffers = self._steps(work, traced, assistant)
        way: SumKept | None = None
        if self._store.replays:
            way = replay
        elif self._linear is not None:
            way = self._linear.sum_kept(traced)
        return Training(traced.trace, loss, buffers, way, loss_tells)

    def _steps(self, work: Work, rows: Rows, assistant: Executor | None) -> tuple[float, Tensor | None]:
        """Local training into `rows`: the mean of the batch losses, and the model's buffers after it."""
        if self._linear is not None:
            return self._linear.train(work, rows), None
        x, y = self.task.samples(work.client)
        seeded = self.local.seeded(work.round, work.client) if self._training.draws else nullcontext()
        with self._module(work.params, work.buffers) as module, seeded:
            return module.train(work, x, y, rows, assistant), module.buffers()

    def evaluate(self, params: Tensor, buffers: Tensor | None, *, train: bool) -> Evaluation:
        if self._linear is not None:
            return self._evaluate(params, buffers, train=train)
        return self._evaluation.do(lambda: self._evaluate(params, buffers, train=train))

    def _evaluate(self, params: Tensor, buffers: Tensor | None, *, train: bool) -> Evaluation:
        test_loss, accuracy = self._measure(params, buffers, "test")
        train_loss = self._measure(params, buffers, "train")[0] if train else float("nan")
        return Evaluation(train_loss, test_loss, accuracy)

    def _measure(self, params: Tensor, buffers: Tensor | None, split: Split) -> tuple[float, float]:
        """Loss with penalty, and accuracy, over a split."""
        task = self.task
        x, y = (task.x_train, task.y_train) if split == "train" else (task.x_test, task.y_test)
        if self._linear is not None:
            return self._measure_linear(self._linear, params, split, x)
        with self.local.seeded_evaluation(split) if self._evaluation.draws else nullcontext():
            if is_mean(task.model.loss) and is_count(task.model.hits):
                return self._measure_in_parts(params, buffers, x, y)
            return self._measure_whole(params, buffers, x, y, count=split == "test")

    def _measure_linear(self, linear: Linear, params: Tensor, split: Split, x: Tensor) -> tuple[float, float]:
        def measure(start: int) -> tuple[float, int]:
            return linear.measure(params, split, slice(start, start + _LINEAR_CHUNK))

        losses, hits = zip(*self._map(measure, range(0, len(x), _LINEAR_CHUNK)), strict=True)
        charge = penalty(params, len(params) // (x.shape[1] + 1), self.task.model.decay)
        return sum(losses) / len(x) + charge, sum(hits) / len(x)

    def _measure_in_parts(
        self, params: Tensor, buffers: Tensor | None, x: Tensor, y: Tensor
    ) -> tuple[float, float]:
        """For a mean and a count, which add up over parts of the samples."""

        def measure(start: int) -> tuple[float, int, float]:
            rows = slice(start, start + AT_ONCE)
            with self._module(params, buffers) as module:
                return *module.loss_and_hits(x[rows], y[rows]), module.penalty()

        losses, hits, penalties = zip(
            *self._map(measure, starts(len(x)), in_order=self._evaluation.draws), strict=True
        )
        return sum(losses) / len(x) + penalties[0], sum(hits) / len(x)

    def _measure_whole(
        self, params: Tensor, buffers: Tensor | None, x: Tensor, y: Tensor, *, count: bool
    ) -> tuple[float, float]:
        """For any loss and metric: each is given the outputs of all samples at once.

        Unless asked to `count`, the metric is not computed.
        """

        def forward(start: int) -> tuple[Any, float]:
            with self._module(params, buffers) as module:
                return module.outputs(x[start : start + AT_ONCE]), module.penalty()

        parts, penalties = zip(
            *self._map(forward, starts(len(x)), in_order=self._evaluation.draws), strict=True
        )
        outputs = joined(parts, len(x))
        with torch.no_grad():
            loss = float(self.task.model.loss(outputs, y)) + penalties[0]
            hits = float(self.task.model.hits(outputs, y)) if count else float("nan")
        return loss, hits / len(x)

    @contextmanager
    def _module(self, params: Tensor, buffers: Tensor | None) -> Iterator[FlatModule]:
        """A module that nobody else uses, at these parameters and buffers."""
        module = self._modules.get()
        try:
            module.load(params, buffers)
            yield module
        finally:
            self._modules.put(module)

    def _map(
        self, function: Callable[[Item], Answer], items: Iterable[Item], *, in_order: bool = False
    ) -> list[Answer]:
        """The answers, in the order of the items; computed in it too where that is asked for."""
        if self._pool is None or in_order:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        torch.set_num_threads(self._threads_before)


def linear_of(task: Task) -> Linear | None:
    """The closed form of the task's model, if it has one here."""
    if not has_closed_form(task):
        return None
    return CompiledLinear(task) if pays(task) else NumpyLinear(task)
