"""The three workloads, and the file that hands one of them to every simulator.

Everybody gets the same samples in the same order, the same starting point and the same participants in
every round, so that every FedAvg must end with the same accuracy. The paper's penalty on the SVM's
weights is left out, since it is not a setting of every simulator: plain SGD on the loss for all.
"""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from benchmarks.cnn import base as cnn_base
from benchmarks.cnn import images
from benchmarks.crowd import base as crowd_base
from benchmarks.linear import base as linear_base
from bherd.config import Config
from bherd.loop.server import choose_clients
from bherd.loop.state import RunPlan, State
from bherd.methods import method_of
from bherd.session import Session, prepare
from bherd.tasks.task import Task


class Workload(NamedTuple):
    """Settings that the benchmarks of our own use as well, and what concerns the others."""

    name: str
    title: str
    config: Config
    threads: int
    """Threads that torch may use for one operation where a simulator trains one client at a time."""
    minutes: float
    """The longest that one run may take."""


WORKLOADS = {
    "A": Workload("A", "A: SVM, all of MNIST, 5 clients, B = 100", linear_base(20), 1, 5),
    "B": Workload("B", "B: CNN, 10,000 images of MNIST, 5 clients, B = 100", cnn_base(3), 2, 15),
    "C": Workload("C", "C: logistic regression, 1,000 clients, 10 a round, B = 10", crowd_base(100), 1, 5),
}


def session(workload: Workload, method: str = "fedavg") -> Session:
    """Our own run of a workload: both cores, test accuracy only, no penalty."""
    config = workload.config.replace(name=method, workers=0)
    return prepare(config, task=task(workload))


def task(workload: Workload) -> Task:
    """The data as it is dealt, and the model without its penalty."""
    dealt = images(10_000) if workload.name == "B" else prepare(workload.config).task
    return dealt._replace(model=dealt.model._replace(decay=0.0))


def export(workload: Workload, folder: Path) -> Path:
    """Write the workload as arrays and plain settings; `handout.load` reads it."""
    dealt, train = task(workload), workload.config.train
    settings = {
        "name": workload.name,
        "batch": train.batch_size,
        "lr": train.lr,
        "rounds": train.rounds,
        "evaluate_last_only": workload.config.run.eval_every > 1,
        "threads": workload.threads,
    }
    arrays = {
        "x_train": _bytes(dealt.x_train.numpy()),
        "y_train": dealt.y_train.numpy(),
        "x_test": _bytes(dealt.x_test.numpy()),
        "y_test": dealt.y_test.numpy(),
        "bounds": dealt.bounds,
        "cohorts": np.stack([cohort(workload, number + 1) for number in range(train.rounds)]),
    }
    start = {f"start.{name}": value.numpy() for name, value in dealt.model.module.state_dict().items()}
    path = folder / f"{workload.name}.npz"
    np.savez(path, settings=json.dumps(settings), **arrays, **start)
    return path


def cohort(workload: Workload, number: int) -> np.ndarray:
    """The participants of a round, counted from 1."""
    config, train = workload.config, workload.config.train
    plan = RunPlan(train.rounds, train.cohort, train.epochs, train.lr, config.run.seed)
    before = State(number - 1, torch.empty(0), None, {}, {})
    chosen, _ = choose_clients(method_of(config.method), plan, config.task.clients, before)
    return np.array(chosen)


def _bytes(inputs: np.ndarray) -> np.ndarray:
    """Inputs in [0, 1] as the bytes that they were made from."""
    return np.rint(inputs * 255).astype(np.uint8)
