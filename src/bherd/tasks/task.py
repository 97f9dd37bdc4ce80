"""A task: data in the order in which clients visit it, and the model that they train on it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bherd.errors import InputError
from bherd.indices import Indices
from bherd.streams import stream
from bherd.tasks.datasets import Dataset
from bherd.tasks.datasets.dataset import check_dataset, check_tested
from bherd.tasks.models import Model, build_model
from bherd.tasks.partitions import deal


class Task(NamedTuple):
    """Everything that a federation trains on. Client i holds the rows bounds[i] to bounds[i + 1]."""

    model: Model
    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
    visits: Indices
    """All samples as rows of the dataset: client 0's in its order sigma, then client 1's, and so on."""
    bounds: Indices
    classes: int

    @property
    def clients(self) -> int:
        return len(self.bounds) - 1

    @property
    def order(self) -> list[Indices]:
        """The samples of each client in its order sigma, as rows of the dataset."""
        return [self.visits[self.held(client)] for client in range(self.clients)]

    def held(self, client: int) -> slice:
        """The rows of the training arrays that a client holds."""
        return slice(int(self.bounds[client]), int(self.bounds[client + 1]))

    def size(self, client: int) -> int:
        """The number of samples that a client holds."""
        return int(self.bounds[client + 1] - self.bounds[client])

    def samples(self, client: int) -> tuple[Tensor, Tensor]:
        """A client's inputs and targets, in its order sigma."""
        rows = self.held(client)
        return self.x_train[rows], self.y_train[rows]


def build_task(
    dataset: Dataset,
    model: str,
    scheme: str,
    clients: int,
    *,
    seed: int,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
) -> Task:
    """Deal a dataset to clients, draw their orders, and put it on the device; pixels become floats in [0, 1].

    Raises:
        InputError: if the arrays of the dataset do not fit each other, its classes or the partition.
    """
    check_dataset(dataset)
    check_tested(dataset)
    visits, bounds = deal(dataset.y_train, scheme, clients=clients, seed=seed)
    for client in range(clients):
        held = slice(bounds[client], bounds[client + 1])
        visits[held] = stream(seed, "order", client=client).permutation(visits[held])
    return _assemble(dataset, model, visits, bounds, seed=seed, dtype=dtype, device=device)


def assemble(
    dataset: Dataset,
    model: str,
    order: Sequence[Indices],
    *,
    seed: int,
    dtype: torch.dtype,
    device: str,
) -> Task:
    """A task with the clients' samples and orders given.

    Args:
        dataset: where the samples are.
        model: the name of a model, or `package.module:factory`.
        order: for each client the rows of the training half that it holds, in the order of its visits.
        seed: decides where the model starts.
        dtype: of the inputs and of the model.
        device: where everything is put.

    Raises:
        InputError: if the arrays of the dataset do not fit, or a row is given twice or does not exist.
    """
    check_dataset(dataset)
    visits = np.concatenate([np.empty(0, np.int64), *order])
    check_rows(visits, len(dataset.x_train))
    return _assemble(dataset, model, visits, _bounds(order), seed=seed, dtype=dtype, device=device)


def _bounds(parts: Sequence[Indices]) -> Indices:
    return np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)


def _assemble(
    dataset: Dataset,
    model: str,
    visits: Indices,
    bounds: Indices,
    *,
    seed: int,
    dtype: torch.dtype,
    device: str,
) -> Task:
    built = build_model(model, dataset.x_train.shape[1:], dataset.classes, seed)
    built.module.to(dtype=dtype, device=device)

    def inputs(x: np.ndarray) -> Tensor:
        plain = np.ascontiguousarray(x)  # torch reads no array that runs backwards
        shaped = torch.from_numpy(plain.reshape(len(x), -1) if built.flat_input else plain)
        moved = shaped.to(device=device, dtype=dtype)
        return moved.div_(255) if x.dtype == np.uint8 else moved

    def targets(y: np.ndarray) -> Tensor:
        encoded = built.encode(torch.from_numpy(np.ascontiguousarray(y, dtype=np.int64)))
        return encoded.to(device=device, dtype=dtype if encoded.is_floating_point() else None)

    return Task(
        built,
        inputs(dataset.x_train[visits]),
        targets(dataset.y_train[visits]),
        inputs(dataset.x_test),
        targets(dataset.y_test),
        visits,
        bounds,
        dataset.classes,
    )


def check_rows(rows: Indices, samples: int) -> None:
    """Refuse rows of a dataset that are held twice, or that it does not have."""
    if rows.dtype.kind not in "iu":
        raise InputError(f"order has the dtype {rows.dtype}: expected whole numbers, rows of the dataset.")
    outside = rows[(rows < 0) | (rows >= samples)]
    if outside.size:
        raise InputError(
            f"order has row {outside[0]}: expected rows from 0 to {samples - 1}, one per training sample."
        )
    counts = np.bincount(rows, minlength=1)
    if counts.max() > 1:
        raise InputError(
            f"order has row {counts.argmax()} {counts.max()} times: expected each sample once. "
            "Copy the samples if two clients are to hold the same."
        )
