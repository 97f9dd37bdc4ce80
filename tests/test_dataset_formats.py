"""The public file formats: there and back, and every kind of damage refused by name."""

import contextlib
import gzip
import os
import pickle
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bherd.errors import DamagedFileError
from bherd.tasks.datasets import load_dataset
from bherd.tasks.datasets.cifar import read_binary_batch, read_python_batch
from bherd.tasks.datasets.idx import read_images, read_labels
from dataset_files import check_mnist, idx_bytes, random_arrays, write_mnist

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


def write_cifar(folder: Path, form: str, protocol: int = 2) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(CIFAR_NAMES):
        data, labels = cifar_batch(number)
        if form == "bin":
            column = np.array(labels, np.uint8)[:, np.newaxis]
            np.concatenate([column, data], axis=1).tofile(folder / f"{name}.bin")
        else:
            content = {b"batch_label": b"x", b"labels": labels, b"data": data, b"filenames": [b"a"]}
            (folder / name).write_bytes(pickle.dumps(content, protocol=protocol))


@pytest.mark.parametrize("form", ["bin", "py"])
@pytest.mark.parametrize("inside", ["cifar-10-batches-{}", "cifar10/cifar-10-batches-{}", "."])
def test_cifar_round_trip(tmp_path: Path, form: str, inside: str) -> None:
    write_cifar(tmp_path / "given" / inside.format(form), form)
    dataset = load_dataset("cifar10", tmp_path / "given")
    assert dataset.x_train.shape == (15, 3, 32, 32)
    assert dataset.x_test.shape == (3, 3, 32, 32)
    for number in range(5):
        data, labels = cifar_batch(number)
        mine = slice(3 * number, 3 * number + 3)
        np.testing.assert_array_equal(dataset.x_train[mine].reshape(3, 3072), data)
        assert dataset.y_train[mine].tolist() == labels
    np.testing.assert_array_equal(dataset.x_test.reshape(3, 3072), cifar_batch(5)[0])


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_pickle_protocol(tmp_path: Path, protocol: int, order: str) -> None:
    data, labels = cifar_batch(1)
    given_data = np.asfortranarray(data) if order == "F" else data
    path = tmp_path / "data_batch_1"
    path.write_bytes(pickle.dumps({"data": given_data, "labels": np.array(labels)}, protocol))
    batch = read_python_batch(path)
    np.testing.assert_array_equal(batch.images.reshape(3, 3072), data)
    assert batch.labels.tolist() == labels


def test_a_pickle_as_python_2_wrote_it(tmp_path: Path) -> None:
    """The opcodes of the original files: byte strings and the old name of numpy's module."""

    def text(value: bytes) -> bytes:
        return b"T" + struct.pack("<I", len(value)) + value

    body = bytes(range(256)) * 12
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t"
        + text(b"b")
        + b"tR(K\x01(K\x01M\x00\x0ctcnumpy\ndtype\n("
        + text(b"u1")
        + b"K\x00K\x01tR(K\x03"
        + text(b"|")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
        + text(body)
        + b"tb"
    )
    path = tmp_path / "data_batch_1"
    path.write_bytes(b"\x80\x02}(" + text(b"data") + array + text(b"labels") + b"](K\x07e" + b"u.")
    batch = read_python_batch(path)
    assert batch.images.tobytes() == body
    assert batch.labels.tolist() == [7]


class Attack:
    def __init__(self, function: object, *arguments: object) -> None:
        self.function, self.arguments = function, arguments

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.function, self.arguments


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_malicious_pickle_is_refused_and_not_run(tmp_path: Path, protocol: int) -> None:
    victim = tmp_path / "made_by_the_attack"
    path = tmp_path / "data_batch_1"
    for attack in (
        Attack(os.mkdir, str(victim)),
        Attack(eval, f"__import__('os').mkdir({str(victim)!r})"),
        Attack(np.fromfile, str(path)),
        Attack(getattr, str, "format"),
    ):
        path.write_bytes(pickle.dumps({"data": attack, "labels": [1]}, protocol))
        with pytest.raises(DamagedFileError, match=r"refused.*Nothing in it was run"):
            read_python_batch(path)
        assert not victim.exists()


@pytest.mark.parametrize(
    "payload",
    [
        b"cnumpy\ndtype\n}X\x04\x00\x00\x00evilK\x01sb.",  # attributes set on a stand-in itself
        b"cnumpy\nndarray\n)R.",
        b"c_codecs\nencode\n(X\x01\x00\x00\x00aX\x03\x00\x00\x00hextR.",
        b"c_codecs\nencode\nN}X\x04\x00\x00\x00evilK\x01s\x86b.",
        b"Nr\xff\xff\xff\xff.",  # a memo entry number of four thousand million
        b"Pelsewhere\n.",
        b"K\x01.",
        b"",
    ],
)
def test_odd_pickles_are_refused(tmp_path: Path, payload: bytes) -> None:
    path = tmp_path / "data_batch_1"
    path.write_bytes(payload)
    with pytest.raises(DamagedFileError, match="data_batch_1"):
        read_python_batch(path)


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1"
    path.write_bytes(pickle.dumps({"data": np.array([{}], dtype=object), "labels": [1]}, 2))
    with pytest.raises(DamagedFileError, match="data_batch_1"):
        read_python_batch(path)


@FILES
@given(data=st.data())
def test_a_damaged_batch_is_named_or_read_as_plain_data(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "data_batch_1"
    pixels, labels = cifar_batch(1)
    whole = bytearray(pickle.dumps({b"data": pixels, b"labels": labels}, 2))
    if data.draw(st.booleans()):
        damaged = bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
        path.write_bytes(damaged)
        with pytest.raises(DamagedFileError, match="data_batch_1"):
            read_python_batch(path)
        return
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(whole)
    with contextlib.suppress(DamagedFileError):
        assert read_python_batch(path).images.dtype == np.uint8


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
