"""A user's own data: .npz files and arrays, numbered labels, and one clear message for every mistake."""

import contextlib
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bherd.errors import DamagedFileError, InputError
from bherd.tasks.datasets import dataset_from_arrays, load_dataset, reading
from bherd.tasks.task import assemble, build_task
from tests.tiny import tiny_dataset

# A folder that outlives one example is fine here: each example overwrites its files.
FILES = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def npz(path: Path, **changes: npt.NDArray[np.generic] | None) -> Path:
    arrays: dict[str, npt.NDArray[np.generic] | None] = {
        "x_train": np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3),
        "y_train": np.array([0, 1, 2, 1]),
        "x_test": np.zeros((2, 3), np.float32),
        "y_test": np.array([2, 0]),
    }
    arrays.update(changes)
    kept: dict[str, Any] = {key: array for key, array in arrays.items() if array is not None}
    np.savez(path, **kept)
    return path


def test_npz_of_features(tmp_path: Path) -> None:
    dataset = load_dataset(str(npz(tmp_path / "mine.npz")))
    assert dataset.x_train.shape == (4, 3)
    assert dataset.x_train.dtype == np.float32
    assert dataset.y_train.tolist() == [0, 1, 2, 1]
    assert dataset.classes == 3
    assert dataset.name == str(tmp_path / "mine.npz")


def test_npz_of_pixels_gains_its_channel(tmp_path: Path) -> None:
    train, test = np.ones((4, 6, 5), np.uint8), np.ones((2, 6, 5), np.uint8)
    dataset = load_dataset(str(npz(tmp_path / "mine.npz", x_train=train, x_test=test)))
    assert dataset.x_train.shape == (4, 1, 6, 5)
    assert dataset.x_train.dtype == np.uint8


def test_npz_of_sequences_keeps_its_shape(tmp_path: Path) -> None:
    train, test = np.ones((4, 6, 5)), np.ones((2, 6, 5))
    dataset = load_dataset(str(npz(tmp_path / "mine.npz", x_train=train, x_test=test)))
    assert dataset.x_train.shape == (4, 6, 5)


@pytest.mark.parametrize(
    ("train", "test", "labels"),
    [
        ([0, 500, 0, 500], [500, 0], ("0", "500")),
        ([1, -1, 1, -1], [-1, 1], ("-1", "1")),
        ([3, 2**62, 3, 2**62], [2**62, 3], ("3", str(2**62))),
        (["cat", "dog", "cat", "dog"], ["dog", "cat"], ("cat", "dog")),
        ([b"cat", b"dog", b"cat", b"dog"], [b"dog", b"cat"], ("cat", "dog")),
        ([False, True, False, True], [True, False], ("False", "True")),
    ],
)
def test_npz_labels_are_numbered_and_their_names_kept(
    tmp_path: Path, train: list[object], test: list[object], labels: tuple[str, ...]
) -> None:
    path = npz(tmp_path / "mine.npz", y_train=np.array(train), y_test=np.array(test))
    dataset = load_dataset(str(path))
    assert dataset.classes == 2
    assert [labels[label] for label in dataset.y_train] == [_plain(value) for value in train]
    assert [labels[label] for label in dataset.y_test] == [_plain(value) for value in test]
    assert dataset.labels == labels
    assert reading(dataset).endswith(f"2 classes (0 = {labels[0]}, 1 = {labels[1]})")


def _plain(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def test_how_a_dataset_was_read_fits_a_line() -> None:
    assert reading(load_dataset("mnist-mini")) == (
        "mnist-mini: 5,000 + 1,000 samples of 1x28x28 pixels scaled to [0, 1], 10 classes"
    )
    x, y = np.zeros((30, 7), np.float32), np.arange(30) * 2
    many = reading(dataset_from_arrays("many", x, y, x, y))
    assert "7 values as they are, 30 classes (0 = 0, 1 = 2," in many
    assert many.endswith("9 = 18 and 20 more)")


# Datasets from Python, which are held to the same


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_train": np.arange(95) % 4}, "x_train has 98 samples and y_train has 95"),
        ({"y_test": np.arange(33) % 4}, "x_test has 30 samples and y_test has 33"),
        ({"y_train": np.arange(98) % 5}, "y_train runs from 0 to 4; expected 0 to 3"),
        ({"y_train": np.arange(98) % 4 - 1}, "y_train runs from -1 to 2"),
        ({"y_train": np.linspace(0, 1, 98)}, "regression"),
        ({"x_train": np.zeros((98, 64), np.uint8)}, "uint8 for images alone"),
        ({"x_test": np.zeros((30, 1, 8, 7), np.float32)}, "the same for both"),
        ({"x_train": np.full((98, 1, 8, 8), np.inf, np.float32)}, "NaN, infinite"),
    ],
)
def test_a_task_refuses_arrays_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    data = tiny_dataset()._replace(**changes)
    with pytest.raises(InputError, match=message):
        build_task(data, "logistic", "case1", 2, seed=0)
    with pytest.raises(InputError, match=message):
        assemble(data, "logistic", [np.arange(10)], seed=0, dtype=torch.float32, device="cpu")


def test_a_task_refuses_test_labels_that_nobody_trains() -> None:
    data = tiny_dataset()
    with pytest.raises(InputError, match="y_train never has: 3"):
        build_task(data._replace(y_train=data.y_train % 3), "logistic", "case1", 2, seed=0)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([[0, 1], [1, 2]], "row 1 2 times"),
        ([[0, 1], [98]], "row 98: expected rows from 0 to 97"),
        ([[-1, 1], [2]], "row -1"),
        ([[0.5, 1.0]], "whole numbers"),
    ],
)
def test_a_task_refuses_rows_twice_and_outside(order: list[list[int]], message: str) -> None:
    rows = [np.array(part) for part in order]
    with pytest.raises(InputError, match=message):
        assemble(tiny_dataset(), "logistic", rows, seed=0, dtype=torch.float32, device="cpu")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_test": None}, "no y_test"),
        ({"y_train": np.array([0, 1])}, "4 samples and y_train has 2"),
        (
            {"client": np.array([0, 0, 1, 1])},
            "not know: client. Expected x_train, y_train, x_test, y_test",
        ),
        ({"y_train": np.array([0, 1, -1, 1])}, "y_train never has: 2"),
        ({"y_test": np.array([5, 6])}, "y_train never has: 5, 6"),
        ({"y_train": np.array([0.0, 1.0, 2.0, 1.0])}, "look like regression, which takes a Task"),
        ({"y_train": np.array(["0", "1", "2", "1"])}, "y_train has the dtype <U1 and y_test int64"),
        ({"y_train": np.array([[0], [1], [2], [1]])}, "shape"),
        ({"y_train": np.array([0, 1, 2, 2**63], np.uint64)}, "the same kind"),
        ({"y_train": np.zeros(4, int), "y_test": np.zeros(2, int)}, "1 different labels; expected 2"),
        ({"x_train": np.full((4, 3), np.nan, np.float32)}, "12 values that are NaN"),
        ({"x_train": np.full((4, 3), 1e300)}, "beyond float32"),
        ({"x_train": np.zeros((4, 3), np.int64)}, "dtype int64"),
        ({"x_train": np.zeros((4, 2), np.float32)}, "the same for both"),
        ({"x_train": np.zeros((0, 3), np.float32)}, "none of them 0"),
        ({"x_train": np.zeros((4, 3), np.uint8)}, "uint8 for images alone.*token ids need a Task"),
        ({"x_train": np.zeros((4, 8, 8, 3), np.float32)}, "channels last"),
        ({"x_train": np.zeros((4, 32, 48, 3), np.uint8)}, "channels last"),
        ({"x_train": np.array([{}, {}, {}, {}])}, "Python objects"),
    ],
)
def test_npz_mistakes_are_explained(
    tmp_path: Path, changes: dict[str, npt.NDArray[np.generic] | None], message: str
) -> None:
    path = npz(tmp_path / "mine.npz", **changes)
    with pytest.raises(InputError, match=message) as caught:
        load_dataset(str(path))
    assert "mine.npz" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_npz_that_is_missing_or_something_else(tmp_path: Path) -> None:
    path = tmp_path / "mine.npz"
    with pytest.raises(InputError, match="does not exist"):
        load_dataset(str(path))
    path.write_bytes(pickle.dumps({"x_train": 1}))
    with pytest.raises(DamagedFileError, match="mine"):
        load_dataset(str(path))
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(InputError, match="single array"):
        load_dataset(str(path))
    with zipfile.ZipFile(path, "w") as archive:
        for key in ("x_train", "y_train", "x_test", "y_test"):
            archive.writestr(f"{key}.npy", b"not an array")
    with pytest.raises(DamagedFileError, match="mine"):
        load_dataset(str(path))


@FILES
@given(data=st.data())
def test_a_damaged_npz_is_one_clear_error(tmp_path: Path, data: st.DataObject) -> None:
    path = npz(tmp_path / "mine.npz")
    whole = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        del whole[data.draw(st.integers(0, len(whole) - 1)) :]
    else:
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    with contextlib.suppress(InputError):
        assert np.isfinite(load_dataset(str(path)).x_train).all()
