"""CIFAR-10 as its authors ship it: ``cifar-10-batches-bin`` and ``cifar-10-batches-py``."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from bherd.errors import DamagedFileError, InputError
from bherd.tasks.datasets.dataset import Labels, Pixels
from bherd.tasks.datasets.safe_pickle import read_plain_pickle

CLASSES = 10
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
RECORD = 1 + PIXELS


class Batch(NamedTuple):
    images: Pixels
    labels: Labels


def read_binary_batch(path: Path) -> Batch:
    """A ``.bin`` file: records of one label byte and 3072 pixels, colour planes one by one."""
    try:
        raw = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    if raw.size == 0 or raw.size % RECORD:
        raise DamagedFileError(
            f"{path} is damaged: it has {raw.size:,} bytes, expected a multiple of {RECORD}."
        )
    records = raw.reshape(-1, RECORD)
    return _checked(path, records[:, 1:], records[:, 0].astype(np.int64))


def read_python_batch(path: Path) -> Batch:
    """A pickled batch: ``data`` (n, 3072) uint8 and ``labels``, a list of n integers."""
    content = read_plain_pickle(path)
    data, given = content.get("data"), content.get("labels")
    if (
        not isinstance(data, np.ndarray)
        or data.dtype != np.uint8
        or data.ndim != 2
        or data.shape[1] != PIXELS
    ):
        raise DamagedFileError(f"{path} is damaged: expected 'data', a uint8 array of shape (n, {PIXELS}).")
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, list) or any(type(label) is not int for label in given):
        raise DamagedFileError(f"{path} is damaged: expected 'labels', a list of integers.")
    if len(given) != len(data) or not given:
        raise DamagedFileError(f"{path} is damaged: it holds {len(data)} images and {len(given)} labels.")
    if min(given) < 0 or max(given) >= CLASSES:
        raise _label_out_of_range(path, min(given) if min(given) < 0 else max(given))
    return _checked(path, data, np.array(given, dtype=np.int64))


def _checked(path: Path, rows: Pixels, labels: Labels) -> Batch:
    if labels.max() >= CLASSES:
        raise _label_out_of_range(path, int(labels.max()))
    return Batch(np.ascontiguousarray(rows).reshape(-1, *SHAPE), labels)


def _label_out_of_range(path: Path, label: int) -> DamagedFileError:
    return DamagedFileError(f"{path} is damaged: it holds the label {label}, expected 0 to {CLASSES - 1}.")
