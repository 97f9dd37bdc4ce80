"""Files that are whole or not there: atomic writes, append-only logs, the lock of a run directory."""

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bherd.errors import DamagedFileError, InputError


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a later start after a crash, sees all of it or the old one."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


class Mark(NamedTuple):
    """How much of a log belongs to a checkpoint: its length in bytes and the SHA-256 of them."""

    length: int
    sha256: str


class Log:
    """A file that only grows, and that can be cut back to what a checkpoint knows of."""

    def __init__(self, path: Path, mark: Mark | None = None) -> None:
        self.path = path
        self._length = mark.length if mark else 0
        self._hash = _hash_of_prefix(path, mark) if mark else hashlib.sha256()
        self._file = path.open("r+b" if path.exists() else "w+b")
        self._file.truncate(self._length)
        self._file.seek(self._length)

    @property
    def empty(self) -> bool:
        return self._length == 0

    def append(self, content: bytes) -> None:
        self._file.write(content)
        self._hash.update(content)
        self._length += len(content)

    def commit(self) -> Mark:
        """Make everything so far durable and say how much it is."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return Mark(self._length, self._hash.hexdigest())

    def close(self) -> None:
        self._file.close()


def _hash_of_prefix(path: Path, mark: Mark) -> "hashlib._Hash":
    try:
        with path.open("rb") as file:
            content = file.read(mark.length)
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read: {error.strerror}") from error
    digest = hashlib.sha256(content)
    if len(content) != mark.length or digest.hexdigest() != mark.sha256:
        raise DamagedFileError(
            f"{path} is damaged: its first {mark.length} bytes are not those that the checkpoint "
            "was written with; nothing was changed"
        )
    return digest


def check_log(path: Path, mark: Mark) -> None:
    """Raise `DamagedFileError` unless the log still begins as the checkpoint says."""
    _hash_of_prefix(path, mark)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold a run directory, so that no second process writes into it.

    Windows has no flock: two processes in one directory are not noticed there.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(
                f"{directory} is in use by another bherd process; wait for it or stop it first"
            ) from error
        yield
    finally:
        os.close(handle)
