"""Loading datasets by name: the embedded, the generated, a user's own, and the order of places."""

import contextlib
import hashlib
import pickle
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bherd.errors import DamagedFileError, InputError
from bherd.tasks.datasets import DATASET_NAMES, load_dataset, places
from bherd.tasks.datasets.known import MNIST, KnownFile
from bherd.tasks.datasets.places import cache_folder
from dataset_files import check_mnist, idx_bytes, random_arrays, write_mnist

# A folder that outlives one example is fine here: each example overwrites its files.
FILES = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def _no_real_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BHERD_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))


# The embedded and the generated


def test_mini_is_five_hundred_of_each_digit() -> None:
    dataset = load_dataset("mnist-mini")
    assert dataset.x_train.shape == (5000, 1, 28, 28)
    assert dataset.x_test.shape == (1000, 1, 28, 28)
    assert dataset.x_train.dtype == np.uint8
    assert np.bincount(dataset.y_train).tolist() == [500] * 10
    assert np.bincount(dataset.y_test).tolist() == [100] * 10


@pytest.mark.parametrize(("name", "shape"), [("synthetic", (1, 28, 28)), ("synthetic-cifar", (3, 32, 32))])
def test_synthetic_is_made_by_its_seed(name: str, shape: tuple[int, int, int]) -> None:
    first, again, other = (load_dataset(name, seed=seed) for seed in (3, 3, 4))
    assert first.x_train.shape == (2000, *shape)
    assert first.x_test.shape == (500, *shape)
    assert first.x_train.dtype == np.float32
    assert 0 <= first.x_train.min() < first.x_train.max() <= 1
    assert np.bincount(first.y_train).tolist() == [200] * 10
    np.testing.assert_array_equal(first.x_train, again.x_train)
    np.testing.assert_array_equal(first.y_test, again.y_test)
    assert not np.array_equal(first.x_train, other.x_train)


def test_synthetic_can_be_learned_but_not_by_guessing() -> None:
    dataset = load_dataset("synthetic")
    x = dataset.x_train.reshape(2000, -1)
    targets = np.eye(10)[dataset.y_train]
    weights = np.linalg.solve(x.T @ x + 30 * np.eye(x.shape[1]), x.T @ targets)
    guessed = (dataset.x_test.reshape(500, -1) @ weights).argmax(axis=1)
    assert (guessed == dataset.y_test).mean() > 0.7


def test_synthetic_refuses_a_negative_seed() -> None:
    with pytest.raises(InputError, match="seed"):
        load_dataset("synthetic", seed=-1)


# A user's own file


def npz(path: Path, **changes: npt.NDArray[np.generic] | None) -> Path:
    arrays: dict[str, npt.NDArray[np.generic] | None] = {
        "x_train": np.linspace(0, 1, 12, dtype=np.float32).reshape(4, 3),
        "y_train": np.array([0, 1, 2, 1]),
        "x_test": np.zeros((2, 3), np.float32),
        "y_test": np.array([2, 0]),
    }
    arrays.update(changes)
    kept = {key: array for key, array in arrays.items() if array is not None}
    np.savez(path, allow_pickle=True, **kept)
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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_test": None}, "no y_test"),
        ({"y_train": np.array([0, 1])}, "4 samples and y_train has 2"),
        ({"y_train": np.array([0, 1, -1, 1])}, "count from 0"),
        ({"y_train": np.array([0.0, 1.0, 2.0, 1.0])}, "expected integers"),
        ({"y_train": np.array([[0], [1], [2], [1]])}, "shape"),
        ({"y_train": np.array([0, 1, 2, 2**63], np.uint64)}, "count from 0"),
        ({"y_train": np.array([0, 1, 2, 10**9])}, "Number your classes"),
        ({"y_train": np.zeros(4, int), "y_test": np.zeros(2, int)}, "largest label is 0"),
        ({"x_train": np.full((4, 3), np.nan, np.float32)}, "12 values that are NaN"),
        ({"x_train": np.full((4, 3), 1e300)}, "beyond float32"),
        ({"x_train": np.zeros((4, 3), np.int64)}, "dtype int64"),
        ({"x_train": np.zeros((4, 2), np.float32)}, "the same for both"),
        ({"x_train": np.zeros((0, 3), np.float32)}, "none of them 0"),
        ({"x_train": np.zeros((4, 8, 8, 3), np.float32)}, "channels last"),
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


# Where datasets are looked for


def test_the_order_of_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cached, environment, given_first = (random_arrays(seed=seed) for seed in (1, 2, 3))
    write_mnist(cache_folder() / "mnist", cached, dotted=True)
    check_mnist(load_dataset("mnist"), cached)
    monkeypatch.setenv("BHERD_DATA", str(tmp_path / "environment"))
    check_mnist(load_dataset("mnist"), cached)
    write_mnist(tmp_path / "environment", environment)
    check_mnist(load_dataset("mnist"), environment)
    (tmp_path / "given").mkdir()
    check_mnist(load_dataset("mnist", tmp_path / "given"), environment)
    write_mnist(tmp_path / "given", given_first)
    check_mnist(load_dataset("mnist", str(tmp_path / "given")), given_first)


def test_a_missing_dataset_is_one_message_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BHERD_DATA", str(tmp_path / "nowhere"))
    write_mnist(tmp_path / "given", random_arrays())[1].unlink()
    with pytest.raises(InputError) as caught:
        load_dataset("mnist", tmp_path / "given")
    message = str(caught.value)
    assert "bherd data fetch mnist" in message
    assert "lacks train-labels-idx1-ubyte" in message
    assert str(tmp_path / "nowhere") in message
    assert str(cache_folder()) in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["mnist", "mnist-mini", "synthetic"])
def test_a_data_folder_that_does_not_exist(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load_dataset(name, tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="not a folder"):
        load_dataset(name, tmp_path / "file")


@pytest.mark.parametrize(
    ("name", "guess"), [("minst", "mnist"), ("fashion_mnist", "fashion-mnist"), ("CIFAR10", "cifar10")]
)
def test_an_unknown_name_gets_a_guess(name: str, guess: str) -> None:
    with pytest.raises(InputError, match=f"Did you mean {guess}"):
        load_dataset(name)
    assert guess in DATASET_NAMES


def test_a_fetched_file_that_changed_is_noticed() -> None:
    write_mnist(cache_folder() / "mnist", random_arrays())
    with pytest.raises(DamagedFileError, match=r"train-images-idx3-ubyte.*bherd data fetch mnist"):
        load_dataset("mnist")


@pytest.mark.parametrize("packed", [False, True])
def test_digits_do_not_pass_for_clothes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """MNIST and Fashion-MNIST have the same file names; a flat folder may hold either."""
    arrays = random_arrays()
    digest = hashlib.sha256(idx_bytes(arrays[1])).hexdigest()
    labels = KnownFile("train-labels-idx1-ubyte", 14, digest)
    monkeypatch.setattr(places, "MNIST", MNIST._replace(files=(labels,)))
    write_mnist(tmp_path / "given", arrays, packed=packed)
    check_mnist(load_dataset("mnist", tmp_path / "given"), arrays)
    with pytest.raises(InputError, match="are those of mnist"):
        load_dataset("fashion-mnist", tmp_path / "given")
