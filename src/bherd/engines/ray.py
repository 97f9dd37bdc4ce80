"""Clients as Ray actors, on this machine or on a Ray cluster: for simulations too big for one machine.

Each actor runs the default engine on one core, so that results are those of `simulate`, bit for bit.
With $RAY_ADDRESS set the cluster there is used; otherwise Ray is started here for this run, reachable
from this machine only, and stopped at the end. Needs the extra `bherd[ray]`.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from torch import Tensor

from bherd.engines.simulate import SimulateEngine
from bherd.errors import InputError
from bherd.loop.client import DivergedError, Outcome
from bherd.loop.engine import Engine
from bherd.loop.state import Evaluation, Local, State
from bherd.method import Method
from bherd.stores.base import Store
from bherd.tasks.task import Task


class _Worker:
    """Lives in a process of its own, with its copy of the task."""

    def __init__(self, task: Task, method: Method, local: Local, store: Store | None) -> None:
        self.engine = SimulateEngine(task, method, local, 1, store)

    def run(self, state: State, client: int) -> Outcome | DivergedError:
        try:
            (outcome,) = self.engine.run_clients(state, [client])
        except DivergedError as error:
            return error
        return outcome


class RayEngine(Engine):
    """Clients on Ray actors; evaluation here."""

    def __init__(
        self, task: Task, method: Method, local: Local, workers: int, store: Store | None = None
    ) -> None:
        self._ray = import_ray(cluster="RAY_ADDRESS" in os.environ)
        self._evaluator = SimulateEngine(task, method, local, workers)
        self._started = not self._ray.is_initialized()
        if self._started:
            self._ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
        remote = self._ray.remote(num_cpus=1)(_Worker)
        shared_task = self._ray.put(task)
        self._workers = [remote.remote(shared_task, method, local, store) for _ in range(max(1, workers))]

    def run_clients(self, state: State, clients: Sequence[int]) -> list[Outcome]:
        waiting = []
        common = self._ray.put(state._replace(clients={}))
        for position, client in enumerate(clients):
            worker = self._workers[position % len(self._workers)]
            own = {client: state.clients[client]} if client in state.clients else {}
            sent = state._replace(clients=own) if own else common
            waiting.append(worker.run.remote(sent, client))
        outcomes: list[Outcome] = []
        for answer in self._ray.get(waiting):
            if isinstance(answer, DivergedError):
                raise answer
            outcomes.append(answer)
        return outcomes

    def evaluate(self, params: Tensor, buffers: Tensor | None, *, train: bool) -> Evaluation:
        return self._evaluator.evaluate(params, buffers, train=train)

    def close(self) -> None:
        self._evaluator.close()
        for worker in self._workers:
            with suppress(Exception):  # an actor whose node is gone is closed already
                self._ray.kill(worker)
        if self._started:
            self._ray.shutdown()


def import_ray(*, cluster: bool) -> Any:
    """Ray, set up before its import, which is when it reads its settings.

    Args:
        cluster: whether a cluster is going to be used; without one Ray listens on loopback alone.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if not cluster:  # Ray's name for it
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        import ray
    except ImportError as error:
        raise InputError("Ray is not installed; install it with: pip install 'bherd[ray]'") from error
    return ray
