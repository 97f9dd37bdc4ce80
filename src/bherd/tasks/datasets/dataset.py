"""What every dataset looks like once it is in memory, and the checks that hold for all of them."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bherd.errors import InputError

Pixels = npt.NDArray[np.uint8]
Features = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

REGRESSION = (
    "Float targets look like regression, which takes a Task of your own today (docs/models.md); "
    "classification needs integers or text."
)
NOT_VALUES = (
    "Save x.astype('float32') for measured values; token ids need a Task of your own (docs/models.md)."
)
MOST_NAMED = 10


class Dataset(NamedTuple):
    """A training and a test half, in the order of the files they came from.

    Inputs are ``uint8`` images of shape (n, channels, height, width), which a task scales to [0, 1],
    or floats of shape (n, ...), which are used as they are. Labels count from 0 and lie below
    ``classes``; ``dataset_from_arrays`` makes such labels of any integers or texts.
    """

    name: str
    x_train: Pixels | Features
    y_train: Labels
    x_test: Pixels | Features
    y_test: Labels
    classes: int
    labels: tuple[str, ...] = ()
    """What each class is called in the data; empty where the classes are called 0, 1, 2, ..."""


def check_dataset(dataset: Dataset, where: str | None = None) -> None:
    """Refuse a dataset that no task can be made of.

    Args:
        dataset: what is to be checked.
        where: what the message calls it; its name where this is left out.

    Raises:
        InputError: names the array, what it holds and what was expected.
    """
    where = where or dataset.name
    halves = (("train", dataset.x_train, dataset.y_train), ("test", dataset.x_test, dataset.y_test))
    for half, inputs, labels in halves:
        check_inputs(inputs, f"x_{half}", where)
        check_labels(labels, f"y_{half}", where)
        if labels.dtype.kind not in "iu":
            raise InputError(
                f"{where}: y_{half} has the dtype {labels.dtype}; expected class numbers. "
                "dataset_from_arrays numbers any labels."
            )
        check_lengths(inputs, labels, half, where)
        if int(labels.min()) < 0 or int(labels.max()) >= dataset.classes:
            raise InputError(
                f"{where}: y_{half} runs from {labels.min()} to {labels.max()}; expected 0 to "
                f"{dataset.classes - 1} for its classes. dataset_from_arrays numbers any labels."
            )
    train, test = dataset.x_train, dataset.x_test
    if train.shape[1:] != test.shape[1:] or train.dtype != test.dtype:
        raise InputError(
            f"{where}: a sample of x_train is {train.dtype} {train.shape[1:]}, a sample of x_test is "
            f"{test.dtype} {test.shape[1:]}; expected the same for both."
        )


def check_tested(dataset: Dataset, where: str | None = None) -> None:
    """Refuse test labels that nobody can have learnt, because no training sample has them."""
    unseen = np.setdiff1d(dataset.y_test, dataset.y_train).tolist()
    if unseen:
        called = [dataset.labels[label] if dataset.labels else str(label) for label in unseen]
        raise unseen_labels(where or dataset.name, called)


def unseen_labels(where: str, labels: list[str]) -> InputError:
    """The error for labels of y_test that y_train does not have."""
    return InputError(
        f"{where}: y_test has labels that y_train never has: {listed(labels)}. Expected each to be trained. "
        "Remove those test samples, or add training samples."
    )


def check_lengths(inputs: npt.NDArray[Any], labels: npt.NDArray[Any], half: str, where: str) -> None:
    """Refuse inputs and labels of different lengths."""
    if len(inputs) != len(labels):
        raise InputError(
            f"{where}: x_{half} has {len(inputs)} samples and y_{half} has {len(labels)} labels; "
            "expected one label per sample."
        )


def check_inputs(array: npt.NDArray[Any], key: str, where: str) -> None:
    """Refuse inputs that are neither images of pixels nor finite floats."""
    if array.ndim < 2 or array.size == 0:
        raise InputError(
            f"{where}: {key} has the shape {array.shape}; expected (n, features), (n, steps, features) or "
            "(n, channels, height, width), none of them 0."
        )
    if array.dtype == np.uint8:
        if array.ndim == 4:
            return
        raise InputError(
            f"{where}: {key} is uint8 of shape {array.shape}; expected uint8 for images alone, which are "
            f"scaled to [0, 1]. {NOT_VALUES}"
        )
    if array.dtype.kind != "f":
        raise InputError(
            f"{where}: {key} has the dtype {array.dtype}; expected uint8 images or floats. {NOT_VALUES}"
        )
    if not (np.isfinite(array.min()) and np.isfinite(array.max())):
        bad = int(np.count_nonzero(~np.isfinite(array)))
        raise InputError(
            f"{where}: {key} has {bad} values that are NaN, infinite or beyond float32; expected "
            "finite numbers. Clean them before saving."
        )


def check_labels(array: npt.NDArray[Any], key: str, where: str) -> None:
    """Refuse labels that are not one value per sample, or that are no classes."""
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"{where}: {key} has the shape {array.shape}; expected (n,), one label per sample.")
    if array.dtype.kind in "fc":
        raise InputError(f"{where}: {key} has the dtype {array.dtype}; expected classes. {REGRESSION}")
    if array.dtype.kind not in "iubUS":
        raise InputError(f"{where}: {key} has the dtype {array.dtype}; expected integers or text.")


def reading(dataset: Dataset, most: int = MOST_NAMED) -> str:
    """One line that says how the arrays were understood: shape, scale, and `most` of the classes' names."""
    shape = "x".join(map(str, dataset.x_train.shape[1:]))
    inputs = "pixels scaled to [0, 1]" if dataset.x_train.dtype == np.uint8 else "values as they are"
    line = (
        f"{dataset.name}: {len(dataset.x_train):,} + {len(dataset.x_test):,} samples of {shape} {inputs}, "
        f"{dataset.classes} classes"
    )
    if not dataset.labels:
        return line
    return f"{line} ({listed([f'{number} = {label}' for number, label in enumerate(dataset.labels)], most)})"


def listed(texts: list[str], most: int = MOST_NAMED) -> str:
    """The first few, and how many more there are."""
    rest = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {rest} more" if rest > 0 else "")
