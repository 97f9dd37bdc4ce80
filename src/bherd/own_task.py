"""Runs on a `Task` from Python: checked, and recorded as what they are."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from bherd.config import Config, TaskConfig
from bherd.errors import InputError
from bherd.names import OWN_TASK, is_own_task
from bherd.tasks.fingerprint import fingerprint
from bherd.tasks.task import Task

PARTITION = "as given"
DTYPE_NAMES: dict[torch.dtype, Literal["float32", "float64"]] = {
    torch.float32: "float32",
    torch.float64: "float64",
}


def own_config(config: Config, task: Task) -> Config:
    """The configuration of a run on a task of one's own: what the task decides is taken from it.

    The whole [task] table comes from the task, and so do `dtype` and `device` where they have their
    defaults.

    Raises:
        InputError: if the task's arrays do not fit each other, or the configuration asks for what the
            task is not: another dtype or device, one place for all data, more clients than it has.
    """
    check_task(task)
    if config.method.name == "centralized" and task.clients > 1:
        raise InputError(
            f"method is centralized, which trains on all data in one place, but the task has {task.clients} "
            "clients. Give a task with one client, or choose another method."
        )
    weights = next(task.model.module.parameters())
    if weights.dtype not in DTYPE_NAMES:
        raise InputError(f"the task's parameters are {_plain(weights.dtype)}; expected float32 or float64.")
    run, usual = config.run, Config().run
    dtype, device = DTYPE_NAMES[weights.dtype], str(weights.device)
    if run.dtype not in (usual.dtype, dtype):
        raise InputError(f"dtype is {run.dtype}, but the task's parameters are {dtype}. Leave dtype out.")
    if run.device not in (usual.device, device, weights.device.type):
        raise InputError(
            f"device is {run.device}, but the task is on {device}. Move the task, or leave it out."
        )
    own = TaskConfig(dataset=OWN_TASK, model=task.model.name, partition=PARTITION, clients=task.clients)
    return replace(config, task=own, run=replace(run, dtype=dtype, device=device))


def with_fingerprint(config: Config, task: Task) -> Config:
    """The configuration as a run directory has it: an own task is named with the fingerprint of its data."""
    if not is_own_task(config.task.dataset):
        return config
    return config.replace(dataset=f"{OWN_TASK} {_fingerprint_by_row(task)}")


def check_given(task: Task | None, config: Config, directory: Path) -> None:
    """Refuse to resume a run on an own task without a task, and any other run with one."""
    if is_own_task(config.task.dataset) != (task is not None):
        hint = "It needs no task." if task else "Continue it in Python with resume(..., task=task)."
        raise InputError(f"{directory} cannot be resumed so: it is a run on {config.task.dataset}. {hint}")


def task_fingerprint(task: Task) -> str:
    """The fingerprint of a task's data as it was dealt."""
    return fingerprint(*(t.cpu() for t in (task.x_train, task.y_train, task.x_test, task.y_test)))


def _fingerprint_by_row(task: Task) -> str:
    """The same for every deal and every order of the same samples."""
    rows = torch.from_numpy(np.argsort(task.visits, kind="stable")).to(task.x_train.device)
    return task_fingerprint(task._replace(x_train=task.x_train[rows], y_train=task.y_train[rows]))


def check_task(task: Task) -> None:
    """Refuse a task whose parts do not fit each other.

    Raises:
        InputError: names the part, what it is and what was expected.
    """
    arrays = {name: getattr(task, name) for name in ("x_train", "y_train", "x_test", "y_test")}
    for name, array in arrays.items():
        if not isinstance(array, Tensor) or array.ndim == 0:
            raise InputError(
                f"{name} of the task is a {type(array).__name__}; expected a torch.Tensor (n, ...)."
            )
    for half in ("train", "test"):
        inputs, targets = arrays[f"x_{half}"], arrays[f"y_{half}"]
        if len(inputs) != len(targets) or len(inputs) == 0:
            raise InputError(
                f"x_{half} of the task has {len(inputs)} samples and y_{half} has {len(targets)} targets; "
                "expected one target per sample."
            )
    sizes = np.diff(task.bounds)
    if len(task.bounds) < 2 or task.bounds[0] != 0 or task.bounds[-1] != len(task.x_train):
        raise InputError(
            f"bounds of the task are {_ends(task.bounds)}; expected them to begin with 0 and to end with "
            f"{len(task.x_train)}, the number of samples in x_train."
        )
    if sizes.min() < 1:
        raise InputError(
            f"client {sizes.argmin()} of the task holds {sizes.min()} samples; expected at least one each."
        )
    different = len(np.unique(task.visits))
    if not different == len(task.visits) == len(task.x_train):
        raise InputError(
            f"visits of the task has {len(task.visits)} entries, {different} of them different; expected "
            f"{len(task.x_train)} different rows, one per sample of x_train."
        )
    places = {str(tensor.device) for tensor in (*arrays.values(), *task.model.module.parameters())}
    if len(places) != 1:
        raise InputError(f"the task is spread over {', '.join(sorted(places))}; expected one device.")


def _ends(bounds: np.ndarray) -> str:
    return f"{bounds[0]} to {bounds[-1]}" if len(bounds) else "empty"


def _plain(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
