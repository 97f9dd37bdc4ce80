"""A user's own dataset: an ``.npz`` file with x_train, y_train, x_test and y_test."""

import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from bherd.errors import DamagedFileError, InputError
from bherd.tasks.datasets.dataset import Dataset, Features, Labels, Pixels

KEYS = ("x_train", "y_train", "x_test", "y_test")
MOST_CLASSES = 100_000
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


def read_npz(stream: IO[bytes], where: str, name: str) -> Dataset:
    """A dataset from an open ``.npz``; ``where`` is what error messages call it."""
    arrays = _arrays(stream, where)
    x_train = _inputs(arrays["x_train"], "x_train", where)
    x_test = _inputs(arrays["x_test"], "x_test", where)
    y_train = _labels(arrays["y_train"], "y_train", where)
    y_test = _labels(arrays["y_test"], "y_test", where)
    for half, inputs, labels in (("train", x_train, y_train), ("test", x_test, y_test)):
        if len(inputs) != len(labels):
            raise InputError(
                f"{where}: x_{half} has {len(inputs)} samples and y_{half} has {len(labels)} "
                "labels; expected one label a sample."
            )
    if x_train.shape[1:] != x_test.shape[1:] or x_train.dtype != x_test.dtype:
        raise InputError(
            f"{where}: a sample of x_train is {x_train.dtype} {x_train.shape[1:]}, a sample of "
            f"x_test is {x_test.dtype} {x_test.shape[1:]}; expected the same for both."
        )
    classes = int(max(y_train.max(), y_test.max())) + 1
    if not 2 <= classes <= MOST_CLASSES:
        raise InputError(
            f"{where}: the largest label is {classes - 1}; expected labels that count from 0 and "
            f"end between 1 and {MOST_CLASSES - 1}. Number your classes 0, 1, 2, ..."
        )
    return Dataset(name, x_train, y_train, x_test, y_test, classes)


def _arrays(stream: IO[bytes], where: str) -> dict[str, npt.NDArray[Any]]:
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


def _inputs(array: npt.NDArray[Any], key: str, where: str) -> Pixels | Features:
    if array.ndim not in (2, 3, 4) or array.size == 0:
        raise InputError(
            f"{where}: {key} has the shape {array.shape}; expected (n, features), "
            "(n, height, width) or (n, channels, height, width), none of them 0."
        )
    if array.ndim == 3:
        array = array[:, np.newaxis]
    if array.ndim == 4 and array.shape[1] == array.shape[2] > 4 and array.shape[3] in (1, 3, 4):
        raise InputError(
            f"{where}: {key} has the shape {array.shape}, which looks like channels last; expected "
            f"(n, channels, height, width). Save {key}.transpose(0, 3, 1, 2)."
        )
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind != "f":
        raise InputError(
            f"{where}: {key} has the dtype {array.dtype}; expected uint8 pixels, or floats which "
            f"are used as they are. Save {key}.astype('float32')."
        )
    with np.errstate(over="ignore"):
        features: Features = np.ascontiguousarray(array, dtype=np.float32)
    if not np.isfinite(features).all():
        bad = int(np.count_nonzero(~np.isfinite(features)))
        raise InputError(
            f"{where}: {key} has {bad} values that are NaN, infinite or beyond float32; expected "
            "finite numbers. Clean them before saving."
        )
    return features


def _labels(array: npt.NDArray[Any], key: str, where: str) -> Labels:
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{where}: {key} has the shape {array.shape}; expected (n,), one label a sample.")
    if array.dtype.kind not in "iu":
        raise InputError(
            f"{where}: {key} has the dtype {array.dtype}; expected integers. Save {key}.astype('int64')."
        )
    if int(array.min()) < 0 or int(array.max()) > np.iinfo(np.int64).max:
        raise InputError(
            f"{where}: {key} runs from {array.min()} to {array.max()}; expected labels that count from 0."
        )
    return array.astype(np.int64)
