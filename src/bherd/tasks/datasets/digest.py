"""SHA-256 of files, and which of a known dataset's files are whole."""

import hashlib
from pathlib import Path

from bherd.tasks.datasets.known import KnownDataset, KnownFile

CHUNK = 1 << 20


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def complaint(path: Path, expected: KnownFile) -> str | None:
    """Why the file at ``path`` is not ``expected``, or None when it is."""
    try:
        size = path.stat().st_size
        if size != expected.bytes:
            return f"it has {size:,} bytes where {expected.bytes:,} were expected"
        found = sha256_of(path)
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if found != expected.sha256:
        return f"its SHA-256 is {found[:16]}... where {expected.sha256[:16]}... was expected"
    return None


def is_whole(folder: Path, known: KnownDataset) -> bool:
    """Whether every file of ``known`` lies in ``folder`` with the expected contents."""
    return all(complaint(folder / file.name, file) is None for file in known.files)
