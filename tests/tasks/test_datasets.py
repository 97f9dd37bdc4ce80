"""Loading datasets by name: the embedded, the generated, a user's own, and the order of places."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from bherd.errors import DamagedFileError, InputError
from bherd.tasks.datasets import DATASET_NAMES, load_dataset, places
from bherd.tasks.datasets.known import MNIST, KnownFile
from bherd.tasks.datasets.places import cache_folder
from tests.tasks.dataset_files import check_mnist, idx_bytes, random_arrays, write_mnist


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
