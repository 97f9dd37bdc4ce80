"""How much memory a run will take, before it starts, and which gradient store fits.

Exact herding stores tau x d numbers for every client at work. `auto` keeps them in memory, or, where
that goes beyond the limit, on disk, which gives the same bits: what a run computes does not depend on
the machine. The stores that compute with less (`half`, `sketch`) are taken only when asked for.
"""

import math
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from bherd.config import Config
from bherd.engines.evaluation import AT_ONCE
from bherd.engines.linear import has_closed_form
from bherd.engines.linear_compiled import pays
from bherd.errors import InputError
from bherd.generators import preserved
from bherd.loop.memory import flat
from bherd.loop.server import cohort_size
from bherd.loop.state import start_memory
from bherd.loop.visits import plan_steps
from bherd.method import Method
from bherd.parts.schedule import range_of
from bherd.sizes import parse_size, show_size
from bherd.stores import Store, make_store
from bherd.stores.disk import DiskStore
from bherd.tasks.flat import ravel, trainable
from bherd.tasks.task import Task

SHARE_OF_FREE = 0.8
_VECTORS = 12
"""Vectors of d numbers that a client's training holds besides its trace."""
_CONSTANT = 50_000_000
"""What libraries take for themselves, and what selection takes for close calls, in every worker."""


class Estimate(NamedTuple):
    """The peak memory of a run beyond the task, which is loaded already, in bytes."""

    traces: int
    """Gradients that wait for their selection, of all clients at work."""
    vectors: int
    """Parameters, sums, updates."""
    state: int
    """What the parts remember, on the server and for every client."""
    activations: int
    data: int
    """A second form of the data that the fast kernels read."""
    libraries: int

    @property
    def total(self) -> int:
        return sum(self)


def estimate(config: Config, task: Task, method: Method, store: Store) -> Estimate:
    """What the run will need at its peak, on top of what is in use now."""
    width = sum(p.numel() for _, p in trainable(task.model.module))
    itemsize = task.x_train.element_size()
    largest = int((task.bounds[1:] - task.bounds[:-1]).max())
    steps = _most_steps(config, largest)
    at_work = min(config.run.workers, task.clients)
    if config.run.engine == "reference":
        at_work, traces = 1, 2 * steps * width * itemsize
    elif method.selector.keeps_all and not method.visiting.learns:
        traces = 0
    else:
        traces = at_work * store.bytes(steps, width, itemsize)
    reports = cohort_size(config.train.cohort, task.clients)
    state = _remembered(task, method)
    given = outputs_of_layers(task)
    batch_size = math.ceil(range_of(config.train.batch_size, config.train.rounds)[1])
    training, evaluation = 2 * batch_size * sum(given), 2 * AT_ONCE * max(given, default=0)
    return Estimate(
        traces=traces,
        vectors=(at_work * _VECTORS + min(reports, task.clients)) * width * itemsize,
        state=state,
        activations=at_work * max(training, evaluation) * itemsize,
        data=(task.x_train.numel() + task.x_test.numel()) if has_closed_form(task) and pays(task) else 0,
        libraries=at_work * _CONSTANT,
    )


def _most_steps(config: Config, size: int) -> int:
    """The local steps of a client of this size in the round that takes the most."""
    train = config.train
    smallest, _ = range_of(train.batch_size, train.rounds)
    _, longest = range_of(train.epochs, train.rounds)
    return plan_steps(size, max(1, math.floor(smallest)), longest).steps


def _remembered(task: Task, method: Method) -> int:
    """Bytes that the parts remember: the server's, and every client's."""
    params = ravel(task.model.module)
    server = start_memory(method, params, task.clients)
    client = {"correction": method.correction.client_init(params)}
    if method.transform.lossy:
        stream = np.random.default_rng(0)
        client["transform"] = method.transform.send({}, torch.zeros_like(params), 0, stream).state
    own, shared = (sum(t.nbytes for t in flat(memory).values()) for memory in (client, server))
    return shared + task.clients * own


def outputs_of_layers(task: Task) -> list[int]:
    """How many numbers each layer gives out for one sample."""
    counts: list[int] = []

    def add(_module: nn.Module, _inputs: object, output: object) -> None:
        counts.append(output.numel() if isinstance(output, Tensor) else 0)

    leaves = [m for m in task.model.module.modules() if not list(m.children())]
    hooks = [module.register_forward_hook(add) for module in leaves]
    training = task.model.module.training
    try:
        with torch.no_grad(), preserved():
            task.model.module.eval()
            task.model.module(task.x_test[:1])
    finally:
        task.model.module.train(training)
        for hook in hooks:
            hook.remove()
    return counts


def choose_store(config: Config, task: Task, method: Method) -> Store:
    """The store that the configuration asks for, or the first exact one that fits the limit.

    Raises `InputError` where nothing that gives the same results fits.
    """
    wanted, seed = config.run.store, config.run.seed
    limit = memory_limit(config)
    names = ("memory", "disk") if wanted == "auto" else (wanted,)
    needed = Estimate(0, 0, 0, 0, 0, 0)
    for name in names:
        store = make_store(name, seed)
        needed = estimate(config, task, method, store)
        if (limit is None or needed.total <= limit) and _fits_on_disk(config, task, store):
            return store
    raise InputError(_too_much(config, needed, limit or 0))


def _too_much(config: Config, needed: Estimate, limit: int) -> str:
    parts = {
        "gradients that wait for their selection": needed.traces,
        "model vectors": needed.vectors,
        "what the parts remember of every client": needed.state,
        "activations": needed.activations,
        "the data in the form that is read fastest": needed.data,
        "libraries": needed.libraries,
    }
    largest = max(parts, key=lambda part: parts[part])
    ways = ["--workers 1"] if config.run.workers > 1 else []
    if needed.traces == parts[largest]:
        ways += ["a larger --batch-size"] if config.run.store == "sketch" else ["--store sketch"]
    if needed.state == parts[largest]:
        ways.append("fewer clients")
    ways.append("a larger --memory")
    return (
        f"this run would take about {show_size(needed.total)} of memory besides its data, most of it for "
        f"{largest} ({show_size(parts[largest])}), but the limit is {show_size(limit)}; try {', '.join(ways)}"
    )


def _fits_on_disk(config: Config, task: Task, store: Store) -> bool:
    if not isinstance(store, DiskStore):
        return True
    memory = make_store("memory", config.run.seed)
    width = sum(p.numel() for _, p in trainable(task.model.module))
    largest = int((task.bounds[1:] - task.bounds[:-1]).max())
    steps = _most_steps(config, largest)
    each = memory.bytes(steps, width, task.x_train.element_size())
    return min(config.run.workers, task.clients) * each < SHARE_OF_FREE * shutil.disk_usage(store.folder).free


def memory_limit(config: Config) -> int | None:
    """The bytes that the run may take: as the user says, or most of what is free; None: not known."""
    if config.run.memory is not None:
        return parse_size(config.run.memory)
    free = free_memory()
    return None if free is None else int(SHARE_OF_FREE * free)


def free_memory() -> int | None:
    """Bytes that this process could still be given: the machine's, or its control group's if less."""
    found = [_machine(Path("/proc/meminfo")), _group(Path("/sys/fs/cgroup"))]
    return min((value for value in found if value is not None), default=None)


def _machine(path: Path) -> int | None:
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _group(folder: Path) -> int | None:
    try:
        most = (folder / "memory.max").read_text(encoding="utf-8").strip()
        used = int((folder / "memory.current").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return max(0, int(most) - used) if most.isdigit() else None
