"""``load_dataset``: from a name or a path to arrays, with one clear message when that fails."""

import difflib
from importlib import resources
from pathlib import Path

import numpy as np

from bherd.errors import DamagedFileError, InputError
from bherd.names import is_own_task
from bherd.tasks.datasets import cifar, idx
from bherd.tasks.datasets.dataset import Dataset
from bherd.tasks.datasets.digest import complaint
from bherd.tasks.datasets.known import CIFAR10, KNOWN, KnownDataset
from bherd.tasks.datasets.npz import load_npz, read_npz
from bherd.tasks.datasets.places import (
    Found,
    cache_folder,
    check_data_dir,
    missing_message,
    search,
)
from bherd.tasks.datasets.synthetic import synthetic

SYNTHETIC_SHAPES = {"synthetic": (1, 28, 28), "synthetic-cifar": (3, 32, 32)}
DATASET_NAMES: tuple[str, ...] = ("mnist-mini", *KNOWN, *SYNTHETIC_SHAPES)


def load_dataset(name: str, data_dir: str | Path | None = None, seed: int = 0) -> Dataset:
    """Loads a dataset by name, or a user's ``.npz`` file by its path.

    ``data_dir`` is looked in first; it must exist when given. ``seed`` matters to the synthetic
    datasets only.

    >>> load_dataset("mnist-mini").x_train.shape
    (5000, 1, 28, 28)
    """
    if is_own_task(name):
        raise InputError(
            f"{name!r} is no dataset but a Task that was made in Python: only the program that made it has "
            "its data."
        )
    check_data_dir(data_dir)
    if name == "mnist-mini":
        return _embedded(name)
    if name in SYNTHETIC_SHAPES:
        return synthetic(name, SYNTHETIC_SHAPES[name], seed)
    if name in KNOWN:
        return _public(KNOWN[name], data_dir)
    if name.endswith(".npz"):
        return load_npz(Path(name).expanduser(), name)
    raise InputError(unknown_message(name, DATASET_NAMES))


def is_on_disk(name: str, data_dir: str | Path | None = None) -> bool:
    """Whether the files of a public dataset are where ``load_dataset`` looks for them."""
    return search(KNOWN[name], data_dir).found is not None


def unknown_message(name: str, names: tuple[str, ...]) -> str:
    close = difflib.get_close_matches(name.lower().replace("_", "-"), names, n=1)
    guess = f" Did you mean {close[0]}?" if close else ""
    return (
        f"There is no dataset called {name!r}.{guess} Expected one of {', '.join(names)}, or the "
        "path of an .npz file."
    )


def _embedded(name: str) -> Dataset:
    source = resources.files("bherd") / "data" / "mnist_mini.npz"
    try:
        with source.open("rb") as stream:
            return read_npz(stream, str(source), name, besides=("train_idx", "test_idx"))
    except OSError as error:
        raise DamagedFileError(
            f"The embedded dataset {source} cannot be read ({error.strerror}). Reinstall bherd."
        ) from error


def _public(known: KnownDataset, data_dir: str | Path | None) -> Dataset:
    found, remarks = search(known, data_dir)
    if found is None:
        raise InputError(missing_message(known, remarks))
    try:
        _check_fetched(known, found)
        return _read_cifar(known, found) if known is CIFAR10 else _read_idx(known, found)
    except DamagedFileError as error:
        raise DamagedFileError(
            f"{error} Delete it and get a clean copy with: bherd data fetch {known.name}"
        ) from error


def _check_fetched(known: KnownDataset, found: Found) -> None:
    """Files which ``bherd data fetch`` put in the cache must still have their SHA-256."""
    if found.folder.resolve() != (cache_folder() / known.name / known.folder).resolve():
        return
    for path, expected in zip(found.files, known.files, strict=True):
        wrong = complaint(path, expected) if path.name == expected.name else None
        if wrong is not None:
            raise DamagedFileError(f"{path} is damaged: {wrong}.")


def _read_idx(known: KnownDataset, found: Found) -> Dataset:
    train_images, train_labels, test_images, test_labels = found.files
    x_train, x_test = idx.read_images(train_images), idx.read_images(test_images)
    y_train, y_test = idx.read_labels(train_labels, 10), idx.read_labels(test_labels, 10)
    for images, labels, path in ((x_train, y_train, train_labels), (x_test, y_test, test_labels)):
        if len(images) != len(labels):
            raise DamagedFileError(
                f"{path} does not belong to its images: {len(labels)} labels for {len(images)} images."
            )
    if x_train.shape[1:] != x_test.shape[1:]:
        raise DamagedFileError(
            f"{test_images} does not belong to {train_images.name}: its images are "
            f"{x_test.shape[2:]}, those are {x_train.shape[2:]}."
        )
    return Dataset(known.name, x_train, y_train, x_test, y_test, classes=10)


def _read_cifar(known: KnownDataset, found: Found) -> Dataset:
    batches = [cifar.read_binary_batch(path) for path in found.files]
    return Dataset(
        name=known.name,
        x_train=np.concatenate([batch.images for batch in batches[:-1]]),
        y_train=np.concatenate([batch.labels for batch in batches[:-1]]),
        x_test=batches[-1].images,
        y_test=batches[-1].labels,
        classes=cifar.CLASSES,
    )
