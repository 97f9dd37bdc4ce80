"""Labels: who holds what, what the herd kept of it, and which classes it systematically drops."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from bherd.config import Config
from bherd.engines.base import Local
from bherd.errors import InputError
from bherd.method import Indices
from bherd.report.herd import Ledger
from bherd.report.thin import REPLAYED_ROUNDS, short, spread
from bherd.tasks.datasets import load_dataset
from bherd.tasks.task import batches, plan_steps

LOW_RATE = 0.8
"""A class is called dropped below this part of the client's usual rate of keeping ..."""
OFTEN = 0.75
"""... if it is below the usual rate in at least this share of the rounds."""

Counts = npt.NDArray[np.int64]


class Labels(NamedTuple):
    """The training labels of a dataset."""

    values: Indices
    classes: int


@dataclass(frozen=True)
class KeptLabels:
    """One client: how many samples of each class it visited and kept, over the rounds looked at."""

    client: int
    visited: list[int]
    kept: list[int]


@dataclass(frozen=True)
class Dropped:
    """A class that a client's herd systematically leaves out."""

    client: int
    label: int
    rate: float
    """Its rate of being kept over the client's overall rate."""
    rounds_below: float
    """The share of rounds in which it was kept at less than the overall rate."""


@dataclass(frozen=True)
class Fairness:
    rounds: int
    """Rounds whose labels were counted."""
    all_rounds: int
    clients: list[KeptLabels]
    dropped: list[Dropped]


class LabelShelf:
    """Datasets' labels, each read once. A dataset that is not on this machine is no reason to fail."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str | None, int], Labels | str] = {}

    def labels(self, config: Config) -> Labels | str:
        """The training labels of a run, or why there are none."""
        task = config.task
        synthetic = task.dataset.startswith("synthetic")
        key = (task.dataset, task.data_dir, config.run.seed if synthetic else 0)
        if key not in self._read:
            try:
                dataset = load_dataset(task.dataset, task.data_dir, seed=key[2])
                self._read[key] = Labels(dataset.y_train, dataset.classes)
            except (InputError, OSError) as error:
                self._read[key] = str(error)
        return self._read[key]


def holdings(order: Sequence[Indices], labels: Labels) -> list[list[int]]:
    """Samples of each class, client by client."""
    return [np.bincount(labels.values[rows], minlength=labels.classes).tolist() for rows in order]


def fits(order: Sequence[Indices], labels: Labels) -> bool:
    """Whether a partition can be one of this dataset."""
    return all(len(rows) == 0 or int(rows.max()) < len(labels.values) for rows in order)


def fairness(
    config: Config, ledger: Ledger, order: Sequence[Indices], labels: Labels, clients: Indices
) -> Fairness | None:
    """Count the labels of the kept samples, by drawing the clients' batches again.

    None where the ledger's steps are not those that the partition gives: then nothing can be counted.
    """
    train, run = config.train, config.run
    local = Local(train.batch_size, train.epochs, train.lr, bool(train.reshuffle), run.seed)
    limit = REPLAYED_ROUNDS if local.reshuffle else len(ledger.rounds)
    rounds = ledger.rounds[spread(len(ledger.rounds), limit)]
    counted, dropped = [], []
    for client in (int(client) for client in clients):
        ranks = ledger.ranks(client, rounds)
        present = np.flatnonzero(ranks[:, 0] > -2)
        held = labels.values[order[client]]
        if plan_steps(len(held), local.batch_size, local.epochs).steps != ranks.shape[1]:
            return None
        visited, kept = _count(local, client, held, labels.classes, rounds[present], ranks[present] >= 0)
        counted.append(KeptLabels(client, visited.sum(0).tolist(), kept.sum(0).tolist()))
        dropped += _dropped(client, visited, kept)
    return Fairness(len(rounds), len(ledger.rounds), counted, dropped)


def _count(
    local: Local, client: int, held: Indices, classes: int, rounds: Indices, kept: npt.NDArray[np.bool_]
) -> tuple[Counts, Counts]:
    """(rounds, classes): samples visited, and samples in kept steps."""
    if not local.reshuffle:
        table = _steps(local, 0, client, held, classes)
        return np.repeat(table.sum(0)[None], len(rounds), axis=0), kept.astype(np.int64) @ table
    tables = [_steps(local, int(number), client, held, classes) for number in rounds]
    visited = np.array([table.sum(0) for table in tables], dtype=np.int64).reshape(-1, classes)
    chosen = [row.astype(np.int64) @ table for row, table in zip(kept, tables, strict=True)]
    return visited, np.array(chosen, dtype=np.int64).reshape(-1, classes)


def _steps(local: Local, round: int, client: int, held: Indices, classes: int) -> Counts:
    """(steps, classes): the labels of each batch of one round."""
    plan = plan_steps(len(held), local.batch_size, local.epochs)
    targets = torch.from_numpy(held)
    drawn = batches(plan, targets, targets, local.shuffle(round, client))
    return np.array([np.bincount(batch.numpy(), minlength=classes) for batch, _ in drawn], dtype=np.int64)


def _dropped(client: int, visited: Counts, kept: Counts) -> list[Dropped]:
    if not len(visited) or not kept.sum():
        return []
    usual = kept.sum() / visited.sum()
    each = kept.sum(1) / visited.sum(1)
    found = []
    for label in np.flatnonzero(visited.sum(0)):
        rate = kept[:, label].sum() / visited[:, label].sum() / usual
        seen = visited[:, label] > 0
        below = float(np.mean(kept[seen, label] / visited[seen, label] < each[seen]))
        if rate < LOW_RATE and below >= OFTEN:
            found.append(Dropped(client, int(label), short(float(rate)) or 0.0, short(below) or 0.0))
    return found
