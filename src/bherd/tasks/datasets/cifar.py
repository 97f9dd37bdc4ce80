"""CIFAR-10 in the binary form of its authors, ``cifar-10-batches-bin``."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from bherd.errors import DamagedFileError, InputError
from bherd.tasks.datasets.dataset import Labels, Pixels

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
    labels = records[:, 0].astype(np.int64)
    if labels.max() >= CLASSES:
        raise DamagedFileError(
            f"{path} is damaged: it holds the label {labels.max()}, expected 0 to {CLASSES - 1}."
        )
    return Batch(np.ascontiguousarray(records[:, 1:]).reshape(-1, *SHAPE), labels)
