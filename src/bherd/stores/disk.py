"""On disk, memory-mapped: exact, for traces that are larger than the memory.

The file is unlinked once it is open, where the system allows that, so that the system frees it when
the process ends, however it ends. What is left behind by a process that was killed between the two, or on
another system, is removed when the next one starts.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

import numpy as np
import platformdirs
import torch
from torch import Tensor

from bherd.errors import InputError
from bherd.stores.base import Dense, Store

PREFIX = "gradients"


class DiskStore(Store):
    """One file for each client at work, in the cache folder of the user unless another is given."""

    name = "disk"

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = platformdirs.user_cache_path("bherd") / PREFIX if folder is None else folder
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the gradients cannot be kept on disk: {error}; use --store sketch") from error
        sweep(self.folder)

    def rows(self, steps: int, like: Tensor) -> Dense:
        name = self.folder / f"{PREFIX}-{os.getpid()}-{secrets.token_hex(8)}"
        array = torch.empty(0, dtype=like.dtype).numpy()
        mapped = np.memmap(name, dtype=array.dtype, mode="w+", shape=(steps, len(like)))
        with suppress(OSError):  # where an open file cannot be removed, the next start does it
            name.unlink()
        return Dense(torch.from_numpy(mapped))

    def bytes(self, steps: int, width: int, itemsize: int) -> int:
        """Pages of the file that the system may drop at will do not count."""
        del steps
        return width * itemsize


def sweep(folder: Path) -> None:
    """Remove the files of processes that are no more."""
    for path in folder.glob(f"{PREFIX}-*-*"):
        owner = path.name.split("-")[1]
        if owner.isdigit() and (int(owner) == os.getpid() or not _alive(int(owner))):
            with suppress(OSError):
                path.unlink()


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is there, but not ours
        return True
    return True
