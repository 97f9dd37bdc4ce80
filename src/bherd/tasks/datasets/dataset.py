"""What every dataset looks like once it is in memory."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]
Features = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


class Dataset(NamedTuple):
    """A training and a test half, in the order of the files they came from.

    Inputs are ``uint8`` images of shape (n, channels, height, width), which a task later scales to
    [0, 1], or ``float32`` values of shape (n, features) or (n, channels, height, width), which are
    used as they are. Labels count from 0 and lie below ``classes``.
    """

    name: str
    x_train: Pixels | Features
    y_train: Labels
    x_test: Pixels | Features
    y_test: Labels
    classes: int
