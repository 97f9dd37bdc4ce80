"""Files that are whole or not there: atomic writes, append-only logs, the lock of a run directory.

Everything that changes a run directory goes through this module, in steps that are safe one by one: a
process that dies between any two of them, or a machine that loses power, leaves files from which the
run can be taken up again.
"""

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from bherd.errors import DamagedFileError, InputError

_BINARY = getattr(os, "O_BINARY", 0)
_NOT_WAITING = getattr(os, "O_NONBLOCK", 0)
"""Opening a pipe then returns at once, and it is seen to be one."""


class UnwritableError(InputError):
    """The system refused to write: a full disk, a missing permission, a folder that is gone."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write into one clear error that names the path."""
    try:
        yield
    except OSError as error:
        raise UnwritableError(f"{path} cannot be written: {error.strerror or error}") from error


def temporary(path: Path) -> Path:
    """Where the next version of a file is written before it takes the file's name."""
    return path.with_name(f".{path.name}.tmp")


def write_atomically(path: Path, *pieces: bytes | memoryview) -> None:
    """Write a file so that a reader, or a later start after a crash, sees all of it or the old one.

    The contents are on the disk before the name is, and the name is when this returns.
    """
    draft = temporary(path)
    with writing(path):
        try:
            draft.unlink(missing_ok=True)
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
            try:
                for piece in pieces:
                    _write_all(handle, piece)
                os.fsync(handle)
            finally:
                os.close(handle)
            draft.replace(path)
        except BaseException:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise
        sync_directory(path.parent)


def _write_all(handle: int, content: bytes | memoryview) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def sync_directory(directory: Path) -> None:
    """Make new, renamed and removed names durable. Windows does that by itself."""
    if sys.platform == "win32":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems have no such thing
            raise
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Remove a file if it is there."""
    with writing(path):
        path.unlink(missing_ok=True)


class MissingFileError(DamagedFileError):
    """A file that should be there is not."""


def read_bytes(path: Path) -> bytes:
    """All bytes of an ordinary file, taken once.

    Raises:
        MissingFileError: there is no such file.
        DamagedFileError: it cannot be read, or is a folder, a pipe or a device.
    """
    try:
        handle = os.open(path, os.O_RDONLY | _BINARY | _NOT_WAITING)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise DamagedFileError(f"{path} is damaged: it is not an ordinary file; nothing was changed")
            return file.read()
    except FileNotFoundError as error:
        raise MissingFileError(f"{path} is missing; nothing was changed") from error
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read: {error.strerror or error}") from error


class Mark(NamedTuple):
    """What a file, or the beginning of a log, has to be: its length in bytes and the SHA-256 of them."""

    length: int
    sha256: str


def mark_of(content: bytes | memoryview) -> Mark:
    """The mark of these bytes."""
    return Mark(len(content), hashlib.sha256(content).hexdigest())


def check_bytes(path: Path, content: bytes, mark: Mark, *, whole: bool) -> "hashlib._Hash":
    """Raise `DamagedFileError` unless a file's bytes are what its mark says.

    Args:
        path: the file, for the message.
        content: its bytes.
        mark: what was recorded of it.
        whole: whether the mark is of all of it; else of its beginning.

    Returns:
        The hash of the marked bytes, which can be carried on.
    """
    if len(content) < mark.length:
        raise DamagedFileError(
            f"{path} is damaged: it has {len(content)} bytes, but {mark.length} were recorded; "
            "nothing was changed"
        )
    if whole and len(content) > mark.length:
        raise DamagedFileError(
            f"{path} is damaged: it is longer than the {mark.length} bytes that were recorded; "
            "nothing was changed"
        )
    digest = hashlib.sha256(memoryview(content)[: mark.length])
    if digest.hexdigest() != mark.sha256:
        raise DamagedFileError(
            f"{path} is damaged: its bytes are not those that were recorded; nothing was changed"
        )
    return digest


class Log:
    """A file that only grows, and that can be cut back to what a checkpoint knows of.

    What is appended is handed to the system at once, so that others can follow it.
    """

    def __init__(self, path: Path, mark: Mark | None) -> None:
        self.path = path
        self._length = mark.length if mark else 0
        self._hash = _recorded(path, mark) if mark and mark.length else hashlib.sha256()
        self._durable = False
        with writing(path):
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o666)
            try:
                os.ftruncate(self._handle, self._length)
                os.lseek(self._handle, self._length, os.SEEK_SET)
            except BaseException:
                os.close(self._handle)
                raise

    @property
    def empty(self) -> bool:
        return self._length == 0

    def append(self, content: bytes) -> None:
        with writing(self.path):
            _write_all(self._handle, content)
        self._hash.update(content)
        self._length += len(content)
        self._durable = False

    def commit(self) -> Mark:
        """Make everything so far durable and say how much it is."""
        if not self._durable:
            with writing(self.path):
                os.fsync(self._handle)
            self._durable = True
        return Mark(self._length, self._hash.hexdigest())

    def close(self) -> None:
        os.close(self._handle)


def _recorded(path: Path, mark: Mark) -> "hashlib._Hash":
    return check_bytes(path, read_bytes(path), mark, whole=False)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold a run directory, so that no second process writes into it.

    The lock goes with the process, however that ends. Where there are no such locks (Windows, some
    network file systems) two processes in one directory are not noticed.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"{directory} cannot be opened: {error.strerror or error}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"{directory} is in use by another bherd process; wait for it or stop it first"
            ) from error
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.EBADF):
                raise InputError(f"{directory} cannot be locked: {error.strerror or error}") from error
        yield
    finally:
        os.close(handle)


def make_directory(directory: Path) -> list[Path]:
    """Make a directory and its parents; returns those that were missing, the innermost first."""
    made: list[Path] = []
    with writing(directory):
        missing = [path for path in (directory, *directory.parents) if not path.exists()]
        try:
            for folder in reversed(missing):
                folder.mkdir(exist_ok=True)
                made.insert(0, folder)
                sync_directory(folder.parent)
        except OSError:
            with suppress(OSError):
                for folder in made:
                    folder.rmdir()
            raise
    return made
