"""Arrays of indices."""

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
