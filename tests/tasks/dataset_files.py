"""Small files in the public formats, for the tests of datasets."""

import gzip
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bherd.tasks.datasets import Dataset

MNIST_FILES = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")


def idx_bytes(array: npt.NDArray[np.uint8]) -> bytes:
    return struct.pack(f">{1 + array.ndim}I", 0x0800 + array.ndim, *array.shape) + array.tobytes()


def random_arrays(train: int = 6, test: int = 4, seed: int = 0) -> list[npt.NDArray[np.uint8]]:
    generator = np.random.default_rng(seed)
    arrays = []
    for count in (train, test):
        arrays.append(generator.integers(0, 256, (count, 5, 4), dtype=np.uint8))
        arrays.append(generator.integers(0, 10, count, dtype=np.uint8))
    return arrays


def write_mnist(
    folder: Path, arrays: list[npt.NDArray[np.uint8]], dotted: bool = False, packed: bool = False
) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, array in zip(MNIST_FILES, arrays, strict=True):
        spelled = f"{name.replace('-idx', '.idx') if dotted else name}-ubyte"
        content = idx_bytes(array)
        paths.append(folder / (f"{spelled}.gz" if packed else spelled))
        paths[-1].write_bytes(gzip.compress(content) if packed else content)
    return paths


def check_mnist(dataset: Dataset, arrays: list[npt.NDArray[np.uint8]]) -> None:
    np.testing.assert_array_equal(dataset.x_train[:, 0], arrays[0])
    np.testing.assert_array_equal(dataset.y_train, arrays[1])
    np.testing.assert_array_equal(dataset.x_test[:, 0], arrays[2])
    np.testing.assert_array_equal(dataset.y_test, arrays[3])
    assert dataset.x_train.dtype == np.uint8
    assert dataset.y_train.dtype == np.int64
    assert dataset.classes == 10
