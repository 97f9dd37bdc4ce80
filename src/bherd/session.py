"""From a configuration to the things that run it."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from bherd import memory
from bherd.config import Config
from bherd.default_model import with_model
from bherd.engines import ReferenceEngine, SimulateEngine
from bherd.errors import InputError
from bherd.loop.engine import Engine
from bherd.loop.state import Local, RunPlan
from bherd.method import Method
from bherd.methods import config_of, method_of, spelled_out
from bherd.names import is_own_task
from bherd.own_task import own_config
from bherd.step_length import Step
from bherd.step_measure import measured_step, planned_step
from bherd.stores import Store
from bherd.tasks.datasets import load_dataset, reading
from bherd.tasks.task import Task, build_task

if TYPE_CHECKING:
    import pyarrow as pa

DTYPES = {"float32": torch.float32, "float64": torch.float64}


class Session(NamedTuple):
    """A resolved configuration, and what it says to run."""

    config: Config
    task: Task
    method: Method
    plan: RunPlan
    local: Local
    store: Store | None = None
    """Where gradients wait for their selection; None: in memory."""
    reading: str | None = None
    """How a user's own file was understood, in words."""

    def step(self) -> Step | None:
        """What its clients will keep and how long its steps will be, where the selector knows."""
        return planned_step(self.method, self._sizes(), self.local.at(1).batch_size, self.local.at(1).epochs)

    def step_taken(self, clients: "pa.Table") -> dict[str, Any] | None:
        """The same of the rows of clients.parquet, as the summary has it; None without a round."""
        names = ("client", "steps", "kept")  # by DLPack: pyarrow's own converter imports pandas
        columns: list[Any] = [np.from_dlpack(clients.column(name).combine_chunks()) for name in names]
        step = measured_step(self.method, self._sizes(), self.local.at(1).epochs, *columns)
        return None if step is None else {**step._asdict(), "note": step.note}

    def _sizes(self) -> list[int]:
        return [self.task.size(client) for client in range(self.task.clients)]

    def engine(self) -> Engine:
        """The engine that the configuration asks for."""
        if self.config.run.engine == "reference":
            return ReferenceEngine(self.task, self.method, self.local)
        workers = min(self.config.run.workers, self.task.clients)
        if self.config.run.engine == "ray":
            from bherd.engines.ray import RayEngine

            return RayEngine(self.task, self.method, self.local, workers, self.store)
        return SimulateEngine(self.task, self.method, self.local, workers, self.store)


def prepare(config: Config, *, task: Task | None = None, method: Method | str | None = None) -> Session:
    """Load the data, deal it out, build the model: all that can fail, before anything is written.

    A `task` or a `method` of your own takes the place of the one that the configuration names. The
    session's configuration then says 'own task', with the clients, the dtype and the device of the task.
    """
    if method is not None:
        config = with_method(config, method)
    own = method if isinstance(method, Method) else None
    config = resolve(config if task is None else own_config(config, task), own)
    method = own or method_of(config.method)
    note = None
    if task is None:
        task, note = _task(config)
    check_listed(method, task.clients)
    train = config.train
    plan = RunPlan(
        train.rounds,
        train.cohort,
        train.epochs,
        train.lr,
        config.run.seed,
        config.run.eval_every,
        config.run.eval_train,
    )
    local = Local(
        train.batch_size,
        train.epochs,
        train.lr,
        config.run.seed,
        config.run.snapshot_every,
    )
    store = memory.choose_store(config, task, method)
    return Session(config, task, method, plan, local, store, note)


def with_method(config: Config, method: Method | str) -> Config:
    """The configuration with another method: by name, or the one that describes a `Method`."""
    if isinstance(method, str):
        return config.replace(method=method)
    return replace(config, method=config_of(method))


def resolve(config: Config, method: Method | None = None) -> Config:
    """Fill in what the configuration leaves to us.

    A user's parts are imported for it, unless they are here already, in the `method` that it describes.
    """
    config = with_model(config)
    if method is None:
        config = replace(config, method=spelled_out(config.method))
    if config.method.name == "centralized" and not is_own_task(config.task.dataset):
        config = replace(
            config,
            task=replace(config.task, clients=1, partition="case1"),
            train=replace(config.train, cohort=1.0),
        )
    if config.run.workers == 0:
        config = replace(config, run=replace(config.run, workers=os.cpu_count() or 1))
    return config


def _task(config: Config) -> tuple[Task, str | None]:
    """The task that the configuration names, and how its file was read where it is the user's own."""
    run, wanted = config.run, config.task
    check_device(run.device)
    dataset = load_dataset(wanted.dataset, wanted.data_dir, seed=run.seed)
    assert wanted.model is not None, "resolve names it"
    task = build_task(
        dataset,
        wanted.model,
        wanted.partition,
        wanted.clients,
        seed=run.seed,
        dtype=DTYPES[run.dtype],
        device=run.device,
    )
    return task, reading(dataset) if wanted.dataset.endswith(".npz") else None


def check_listed(method: Method, clients: int) -> None:
    """Refuse a part that lists clients which are not there."""
    for axis, part in method.parts.items():
        listed = getattr(part, "clients", ())
        if isinstance(listed, tuple) and any(client >= clients for client in listed):
            raise InputError(f"{axis} = {part}: must list clients from 0 to {clients - 1}. Try clients=0.")


def check_device(device: str) -> None:
    """Refuse a device that torch does not know or this machine does not have."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"device is {device!r}, which cannot be used here: {reason}") from error
