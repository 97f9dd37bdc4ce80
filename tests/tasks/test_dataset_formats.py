"""The public file formats: there and back, and every kind of damage refused by name."""

import gzip
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bherd.errors import DamagedFileError, InputError
from bherd.tasks.datasets import load_dataset
from bherd.tasks.datasets.cifar import read_binary_batch
from bherd.tasks.datasets.idx import read_images, read_labels
from tests.tasks.dataset_files import check_mnist, idx_bytes, random_arrays, write_mnist

# A folder that outlives one example is fine here: each example overwrites its files.
FILES = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def _no_real_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BHERD_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))


# MNIST idx


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dotted", [False, True])
@pytest.mark.parametrize("inside", [".", "mnist", "MNIST/raw"])
def test_idx_round_trip(tmp_path: Path, inside: str, dotted: bool, packed: bool) -> None:
    arrays = random_arrays()
    write_mnist(tmp_path / "given" / inside, arrays, dotted, packed)
    check_mnist(load_dataset("mnist", tmp_path / "given"), arrays)


@FILES
@given(cut=st.floats(0, 1, exclude_max=True), file=st.integers(0, 3), packed=st.booleans())
def test_a_truncated_idx_is_named(tmp_path: Path, cut: float, file: int, packed: bool) -> None:
    folder = tmp_path / ("packed" if packed else "plain")
    path = write_mnist(folder, random_arrays(), packed=packed)[file]
    whole = path.read_bytes()
    path.write_bytes(whole[: int(cut * len(whole))])
    with pytest.raises(DamagedFileError, match=path.name):
        load_dataset("mnist", folder)


@FILES
@given(position=st.integers(0, 15), value=st.integers(0, 255))
def test_an_altered_header_never_gives_wrong_arrays(tmp_path: Path, position: int, value: int) -> None:
    arrays = random_arrays()
    path = write_mnist(tmp_path / "given", arrays)[0]
    whole = bytearray(path.read_bytes())
    unchanged = whole[position] == value
    whole[position] = value
    path.write_bytes(whole)
    if unchanged:
        check_mnist(load_dataset("mnist", tmp_path / "given"), arrays)
    else:
        with pytest.raises(DamagedFileError, match=path.name):
            load_dataset("mnist", tmp_path / "given")


def test_more_bytes_than_the_header_claims(tmp_path: Path) -> None:
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(idx_bytes(np.zeros((2, 3, 3), np.uint8)) + b"!")
    with pytest.raises(DamagedFileError, match="holds more"):
        read_images(path)


def test_a_huge_claim_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(struct.pack(">4I", 0x0803, 2**31, 1, 1) + bytes(100)))
    with pytest.raises(DamagedFileError, match="only 100"):
        read_images(path)


def test_labels_out_of_range_and_wrong_partner(tmp_path: Path) -> None:
    path = tmp_path / "train-labels-idx1-ubyte"
    path.write_bytes(idx_bytes(np.array([1, 10], np.uint8)))
    with pytest.raises(DamagedFileError, match="label 10"):
        read_labels(path, 10)
    arrays = random_arrays()
    arrays[1] = arrays[1][:-1]
    write_mnist(tmp_path / "given", arrays)
    with pytest.raises(DamagedFileError, match="5 labels for 6 images"):
        load_dataset("mnist", tmp_path / "given")


# CIFAR-10

CIFAR_NAMES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")


def cifar_batch(number: int, count: int = 3) -> tuple[npt.NDArray[np.uint8], list[int]]:
    generator = np.random.default_rng(number)
    data = generator.integers(0, 256, (count, 3072), dtype=np.uint8)
    return data, generator.integers(0, 10, count).tolist()


def write_cifar(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(CIFAR_NAMES):
        data, labels = cifar_batch(number)
        column = np.array(labels, np.uint8)[:, np.newaxis]
        np.concatenate([column, data], axis=1).tofile(folder / f"{name}.bin")


@pytest.mark.parametrize("inside", ["cifar-10-batches-bin", "cifar10/cifar-10-batches-bin", "."])
def test_cifar_round_trip(tmp_path: Path, inside: str) -> None:
    write_cifar(tmp_path / "given" / inside)
    dataset = load_dataset("cifar10", tmp_path / "given")
    assert dataset.x_train.shape == (15, 3, 32, 32)
    assert dataset.x_test.shape == (3, 3, 32, 32)
    for number in range(5):
        data, labels = cifar_batch(number)
        mine = slice(3 * number, 3 * number + 3)
        np.testing.assert_array_equal(dataset.x_train[mine].reshape(3, 3072), data)
        assert dataset.y_train[mine].tolist() == labels
    np.testing.assert_array_equal(dataset.x_test.reshape(3, 3072), cifar_batch(5)[0])


def test_the_pickled_form_is_named_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "given" / "cifar-10-batches-py").mkdir(parents=True)
    with pytest.raises(InputError, match=r"pickled form, which is never read.*"):
        load_dataset("cifar10", tmp_path / "given")


@pytest.mark.parametrize("size", [0, 1, 3072, 3074, 2 * 3073 - 1])
def test_a_truncated_binary_batch_is_named(tmp_path: Path, size: int) -> None:
    path = tmp_path / "data_batch_1.bin"
    path.write_bytes(bytes(size))
    with pytest.raises(DamagedFileError, match=r"data_batch_1\.bin"):
        read_binary_batch(path)


def test_a_binary_batch_with_an_unknown_label(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1.bin"
    path.write_bytes(b"\x0a" + bytes(3072))
    with pytest.raises(DamagedFileError, match="label 10"):
        read_binary_batch(path)
