"""A short hash of data, to notice a run that goes on with other data than it began with."""

import hashlib
from typing import Any

import numpy as np


def fingerprint(*arrays: Any) -> str:
    """A short hash of a dataset: shapes, the bits of every row summed up, and every 97th row in full."""
    digest = hashlib.sha256()
    for given in arrays:
        array = np.ascontiguousarray(given)
        digest.update(f"{array.dtype} {array.shape}".encode())
        rows = array.reshape(len(array), -1)
        unit = np.uint32 if rows.shape[1] * rows.itemsize % 4 == 0 else np.uint8
        digest.update(rows.view(unit).sum(1, dtype=np.uint64).tobytes())
        digest.update(array[::97].tobytes())
    return digest.hexdigest()[:16]
