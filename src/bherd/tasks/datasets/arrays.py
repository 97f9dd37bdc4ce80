"""From arrays as a user has them to a `Dataset`: the one place for files and for Python alike."""

from typing import Any

import numpy as np
import numpy.typing as npt

from bherd.errors import InputError
from bherd.tasks.datasets.dataset import (
    Dataset,
    Features,
    Labels,
    Pixels,
    check_dataset,
    check_inputs,
    check_labels,
    check_lengths,
    unseen_labels,
)

MOST_CLASSES = 100_000
MOST_CHANNELS = 4
"""More than this in the second place, and 1, 3 or 4 in the last, are images with their channels last."""


def dataset_from_arrays(
    name: str,
    x_train: npt.NDArray[Any],
    y_train: npt.NDArray[Any],
    x_test: npt.NDArray[Any],
    y_test: npt.NDArray[Any],
    where: str | None = None,
) -> Dataset:
    """A checked dataset.

    Args:
        name: what the dataset is called.
        x_train: uint8 images, (n, height, width) or (n, channels, height, width), or floats of any shape.
        y_train: one integer or text per sample. The distinct values, sorted, become the classes 0, 1, 2, ...
        x_test: as `x_train`.
        y_test: as `y_train`, without values that `y_train` does not have.
        where: what error messages call the arrays; the name where this is left out.

    Returns:
        The dataset, with `labels` saying what the classes are called unless they are 0, 1, 2, ...

    Raises:
        InputError: if an array is not what was expected.

    >>> x = np.zeros((3, 2), np.float32)
    >>> dataset = dataset_from_arrays("pets", x, np.array(["dog", "cat", "dog"]), x[:1], np.array(["cat"]))
    >>> dataset.y_train.tolist(), dataset.labels
    ([1, 0, 1], ('cat', 'dog'))
    """
    where = where or name
    inputs = [_inputs(array, key, where) for array, key in ((x_train, "x_train"), (x_test, "x_test"))]
    for array, labels, half in ((inputs[0], y_train, "train"), (inputs[1], y_test, "test")):
        check_labels(labels, f"y_{half}", where)
        check_lengths(array, labels, half, where)
    values, train = _classes(y_train, where)
    test = _numbered(y_test, values, where)
    usual = values.dtype.kind in "iu" and np.array_equal(values, np.arange(len(values)))
    called = () if usual else tuple(_text(value) for value in values.tolist())
    dataset = Dataset(name, inputs[0], train, inputs[1], test, len(values), called)
    check_dataset(dataset, where)
    return dataset


def _inputs(array: npt.NDArray[Any], key: str, where: str) -> Pixels | Features:
    if array.dtype == np.uint8 and array.ndim == 3:
        array = array[:, np.newaxis]
    if array.ndim == 4 and min(array.shape[1:3]) > MOST_CHANNELS and array.shape[3] in (1, 3, MOST_CHANNELS):
        raise InputError(
            f"{where}: {key} has the shape {array.shape}, which looks like channels last; expected "
            f"(n, channels, height, width). Save {key}.transpose(0, 3, 1, 2)."
        )
    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            array = np.ascontiguousarray(array, dtype=np.float32)
    check_inputs(array, key, where)
    return array


def _classes(array: npt.NDArray[Any], where: str) -> tuple[npt.NDArray[Any], Labels]:
    """The distinct labels, sorted, and the number of each sample's label among them."""
    values, numbers = np.unique(array, return_inverse=True)
    if not 2 <= len(values) <= MOST_CLASSES:
        raise InputError(
            f"{where}: y_train has {len(values)} different labels; expected 2 to {MOST_CLASSES} classes."
        )
    return values, numbers.astype(np.int64)


def _numbered(array: npt.NDArray[Any], values: npt.NDArray[Any], where: str) -> Labels:
    """Test labels by the numbers that the training labels have."""
    if not _comparable(array.dtype, values.dtype):
        raise InputError(
            f"{where}: y_train has the dtype {values.dtype} and y_test {array.dtype}; expected the same kind."
        )
    present = np.unique(array)
    unseen = present[~np.isin(present, values)]
    if unseen.size:
        raise unseen_labels(where, [_text(value) for value in unseen.tolist()])
    return np.searchsorted(values, array).astype(np.int64)


def _comparable(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether values of both can be compared exactly."""
    if one.kind in "US" or other.kind in "US":
        return one.kind == other.kind
    return np.result_type(one, other).kind in "iub"


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
