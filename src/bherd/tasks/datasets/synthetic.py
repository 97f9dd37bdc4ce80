"""A generated dataset: ten classes that a small model can learn, made from a seed and no files.

Each class owns a few smooth random images. A sample is one of them, covered with noise and cut to
[0, 1]: a mixture of Gaussians in pixel space, dark on the whole with brighter patches.
"""

import numpy as np
import numpy.typing as npt

from bherd.errors import InputError
from bherd.tasks.datasets.dataset import Dataset, Features, Labels

MODES_PER_CLASS = 3
BACKGROUND = 0.05
CONTRAST = 0.25
NOISE = 0.30
COARSE = 4


def synthetic(
    name: str,
    shape: tuple[int, int, int],
    seed: int,
    train: int = 2000,
    test: int = 500,
    classes: int = 10,
) -> Dataset:
    """A dataset of ``train`` + ``test`` float32 samples of ``shape`` (channels, height, width).

    The labels are balanced (counts differ by one at most) and in random order. The same arguments
    give the same arrays; ``name`` has no influence on them.
    """
    if seed < 0:
        raise InputError(f"The seed of {name} is {seed}: expected an integer of 0 or more.")
    generator = np.random.default_rng(np.random.SeedSequence([seed, *shape]))
    centres = _smooth_images(generator, classes * MODES_PER_CLASS, shape)
    y_train = generator.permutation(np.arange(train, dtype=np.int64) % classes)
    y_test = generator.permutation(np.arange(test, dtype=np.int64) % classes)
    return Dataset(
        name=name,
        x_train=_samples(generator, centres, y_train),
        y_train=y_train,
        x_test=_samples(generator, centres, y_test),
        y_test=y_test,
        classes=classes,
    )


def _smooth_images(
    generator: np.random.Generator, count: int, shape: tuple[int, int, int]
) -> npt.NDArray[np.float64]:
    """Random images that vary slowly: coarse noise, enlarged by linear interpolation."""
    channels, height, width = shape
    coarse = generator.standard_normal((count, channels, COARSE, COARSE))
    rows, columns = _enlarging(height), _enlarging(width)
    smooth: npt.NDArray[np.float64] = rows @ coarse @ columns.T
    return BACKGROUND + CONTRAST * smooth


def _enlarging(size: int) -> npt.NDArray[np.float64]:
    """The (size, COARSE) matrix that interpolates linearly from COARSE points to ``size``."""
    at = np.linspace(0, COARSE - 1, size)
    weights: npt.NDArray[np.float64] = 1.0 - np.abs(at[:, np.newaxis] - np.arange(COARSE))
    return np.maximum(weights, 0.0, out=weights)


def _samples(generator: np.random.Generator, centres: npt.NDArray[np.float64], labels: Labels) -> Features:
    modes = generator.integers(MODES_PER_CLASS, size=len(labels))
    chosen = centres.astype(np.float32)[labels * MODES_PER_CLASS + modes]
    samples: Features = generator.standard_normal(chosen.shape, dtype=np.float32)
    samples *= NOISE
    samples += chosen
    return np.clip(samples, 0.0, 1.0, out=samples)
