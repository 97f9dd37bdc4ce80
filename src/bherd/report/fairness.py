"""TrainingLabels: who holds what, what the herd kept of it, and which classes it systematically drops."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bherd.config import Config
from bherd.errors import InputError
from bherd.indices import Indices
from bherd.loop.state import Local
from bherd.loop.visits import all_visits, plan_steps
from bherd.names import is_own_task
from bherd.orders.base import Order
from bherd.orders.fixed import FixedOrder
from bherd.orders.reshuffled import Reshuffled
from bherd.parts.schedule import Schedule
from bherd.report.dropped import FEWEST_ROUNDS, Dropped, Evidence, dropped
from bherd.report.herd import Ledger
from bherd.report.thin import REPLAYED_ROUNDS, spread
from bherd.tasks.datasets import load_dataset, reading

Counts = npt.NDArray[np.int64]


class TrainingLabels(NamedTuple):
    """The training labels of a dataset."""

    values: Indices
    classes: int
    reading: str | None = None
    """What the numbers of the classes stand for, in words; None: they are called by their numbers."""


@dataclass(frozen=True)
class KeptLabels:
    """One client: how many samples of each class it visited and kept, over the rounds looked at."""

    client: int
    visited: list[int]
    kept: list[int]


@dataclass(frozen=True)
class Fairness:
    rounds: int
    """Rounds whose labels were counted."""
    all_rounds: int
    clients: list[KeptLabels]
    dropped: list[Dropped]
    by_chance: float
    """How many classes a random share of the same size would have called dropped, on average."""
    tested: int
    """Clients that were seen in enough rounds to be tested."""
    fewest_rounds: int = FEWEST_ROUNDS


def training_labels(configs: Sequence[Config]) -> list[TrainingLabels | str]:
    """The training labels of each run, or why there are none; each dataset is read once.

    A dataset that is not on this machine is no reason to fail.
    """
    read = cache(_read_labels)
    return [read(*_source(config)) for config in configs]


def _source(config: Config) -> tuple[str, str | None, int]:
    """What decides the labels: the dataset, its folder and, if it is synthetic, the seed."""
    task = config.task
    return task.dataset, task.data_dir, config.run.seed if task.dataset.startswith("synthetic") else 0


def _read_labels(name: str, data_dir: str | None, seed: int) -> TrainingLabels | str:
    if is_own_task(name):
        return "the run is on a task of its own, made in Python, which keeps its labels to itself"
    try:
        dataset = load_dataset(name, data_dir, seed=seed)
        return TrainingLabels(dataset.y_train, dataset.classes, reading(dataset) if dataset.labels else None)
    except (InputError, OSError) as error:
        return str(error)


def holdings(order: Sequence[Indices], labels: TrainingLabels) -> list[list[int]]:
    """Samples of each class, client by client."""
    return [np.bincount(labels.values[rows], minlength=labels.classes).tolist() for rows in order]


def fits(order: Sequence[Indices], labels: TrainingLabels) -> bool:
    """Whether a partition can be one of this dataset."""
    return all(len(rows) == 0 or int(rows.max()) < len(labels.values) for rows in order)


def fairness(
    config: Config, ledger: Ledger, order: Sequence[Indices], labels: TrainingLabels, clients: Indices
) -> Fairness | None:
    """Count the labels of the kept samples, by drawing the clients' batches again.

    None where the ledger's steps are not those that the partition gives, or where clients visit their
    samples in an order that they learnt: then nothing can be counted.
    """
    train, run = config.train, config.run
    local = Local(train.batch_size, train.epochs, train.lr, run.seed)
    known: dict[str | None, Order] = {"reshuffled": Reshuffled(), "fixed": FixedOrder()}
    if config.method.order not in known:
        return None
    if any(isinstance(value, Schedule) for value in (train.batch_size, train.epochs)):
        return None  # rounds of unequal length
    order_of = known[config.method.order]
    moving = config.method.order == "reshuffled"
    limit = REPLAYED_ROUNDS if moving else len(ledger.rounds)
    rounds = ledger.rounds[spread(len(ledger.rounds), limit)]
    counted, evidence = [], []
    for client in (int(client) for client in clients):
        ranks = ledger.ranks(client, rounds)
        present = np.flatnonzero(ranks[:, 0] > -2)
        held = labels.values[order[client]]
        if plan_steps(len(held), local.batch_size, local.epochs).steps != ranks.shape[1]:
            return None
        kept = ranks[present] >= 0
        numbers = rounds[present] if moving else np.zeros(1, np.int64)
        table = _labels(local, order_of, client, held, labels.classes, numbers)
        taken = np.matmul(kept[:, None, :].astype(np.int64), table).sum((0, 1))
        visited = np.broadcast_to(table, (len(kept), *table.shape[1:])).sum((0, 1))
        counted.append(KeptLabels(client, visited.tolist(), taken.tolist()))
        some = spread(len(kept), REPLAYED_ROUNDS)
        evidence.append(Evidence(client, kept[some], table[some] if moving else table))
    found = dropped(evidence)
    return Fairness(len(rounds), len(ledger.rounds), counted, found.dropped, found.by_chance, found.tested)


def _labels(local: Local, order: Order, client: int, held: Indices, classes: int, rounds: Indices) -> Counts:
    """(rounds, steps, classes): the labels of each batch."""
    plan = plan_steps(len(held), local.batch_size, local.epochs)
    tables = []
    for number in rounds.tolist():
        visits, _ = order.visit({}, plan, len(held), local.stream("shuffle", number, client))
        steps = held[all_visits(plan, visits)].reshape(plan.steps, plan.batch)
        tables.append([np.bincount(batch, minlength=classes) for batch in steps])
    return np.array(tables, dtype=np.int64).reshape(-1, plan.steps, classes)
