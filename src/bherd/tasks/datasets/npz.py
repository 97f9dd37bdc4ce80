"""A user's own dataset: an ``.npz`` file with x_train, y_train, x_test and y_test."""

import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bherd.errors import DamagedFileError, InputError
from bherd.tasks.datasets.arrays import dataset_from_arrays
from bherd.tasks.datasets.dataset import Dataset

KEYS = ("x_train", "y_train", "x_test", "y_test")
# What numpy and zipfile raise on files that are not what they claim to be.
READING_FAILS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


def load_npz(path: Path, name: str | None = None) -> Dataset:
    """Reads and checks a user's file; ``name`` defaults to the path as it was given."""
    try:
        with path.open("rb") as stream:
            return read_npz(stream, str(path), name or str(path))
    except FileNotFoundError as error:
        raise InputError(
            f"The dataset file {path} does not exist. Expected an .npz file with the arrays "
            f"{', '.join(KEYS)}."
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_npz(stream: IO[bytes], where: str, name: str, besides: tuple[str, ...] = ()) -> Dataset:
    """A dataset from an open ``.npz``.

    Args:
        stream: the open file.
        where: what error messages call it.
        name: what the dataset is called.
        besides: arrays that it may hold beside the four that are read.

    Raises:
        InputError: if an array is missing, unknown or not what was expected.
    """
    return dataset_from_arrays(name, **_arrays(stream, where, besides), where=where)


def _arrays(stream: IO[bytes], where: str, besides: tuple[str, ...]) -> dict[str, npt.NDArray[Any]]:
    try:
        content = np.load(stream, allow_pickle=False)
    except READING_FAILS as error:
        raise DamagedFileError(f"{where} is not a whole .npz file ({error}).") from error
    if not isinstance(content, np.lib.npyio.NpzFile):
        raise InputError(
            f"{where} holds a single array; expected an .npz file with {', '.join(KEYS)}. "
            "numpy.savez writes one."
        )
    missing = [key for key in KEYS if key not in content.files]
    if missing:
        raise InputError(
            f"{where} has no {', '.join(missing)}; it holds "
            f"{', '.join(sorted(content.files)) or 'nothing'}. Expected {', '.join(KEYS)}."
        )
    unknown = sorted(set(content.files) - {*KEYS, *besides})
    if unknown:
        raise InputError(
            f"{where} holds arrays that bherd does not know: {', '.join(unknown)}. Expected "
            f"{', '.join(KEYS)} and no others. Clients of your own take a Task (docs/models.md); "
            "leave out what is not to be used."
        )
    return {key: _array(content, key, where) for key in KEYS}


def _array(content: Any, key: str, where: str) -> npt.NDArray[Any]:
    try:
        array = content[key]
    except READING_FAILS as error:
        if "allow_pickle" in str(error):
            raise InputError(
                f"{where}: {key} is an array of Python objects, which bherd does not read for "
                "safety. Save it as a plain array of numbers of one shape."
            ) from error
        raise DamagedFileError(f"{where} is damaged: {key} cannot be read ({error}).") from error
    if not isinstance(array, np.ndarray):
        raise DamagedFileError(f"{where} is damaged: {key} is not an array.")
    return array
