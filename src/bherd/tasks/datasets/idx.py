"""The idx format of MNIST and its relatives, plain or gzipped.

A file is a big-endian header (magic number, then one 32-bit length per axis) and then the bytes.
Nothing the header claims is believed before it has been checked against the bytes that are there.
"""

import gzip
import hashlib
import struct
import zlib
from pathlib import Path
from typing import IO, cast

import numpy as np

from bherd.errors import DamagedFileError, InputError
from bherd.tasks.datasets.dataset import Labels, Pixels

IMAGES_MAGIC = 0x0803
LABELS_MAGIC = 0x0801
LARGEST = 1 << 31
CHUNK = 1 << 22


def spellings(name: str) -> tuple[str, ...]:
    """The names under which ``train-images-idx3-ubyte`` is met, in order of preference."""
    dotted = name.replace("-idx", ".idx")
    return name, dotted, f"{name}.gz", f"{dotted}.gz"


def find_idx(folder: Path, name: str) -> Path | None:
    for spelling in spellings(name):
        if (folder / spelling).is_file():
            return folder / spelling
    return None


def unpacked_sha256(path: Path) -> str | None:
    """SHA-256 of a file's unpacked bytes, or None when it cannot be read to its end."""
    digest = hashlib.sha256()
    try:
        with _open(path) as stream:
            while piece := stream.read(CHUNK):
                digest.update(piece)
    except (EOFError, zlib.error, OSError):
        return None
    return digest.hexdigest()


def read_images(path: Path) -> Pixels:
    """Images of an idx3 file, shape (n, 1, height, width)."""
    images = _read(path, IMAGES_MAGIC, "images")
    return images[:, np.newaxis]


def read_labels(path: Path, classes: int) -> Labels:
    labels = _read(path, LABELS_MAGIC, "labels").astype(np.int64)
    if labels.max() >= classes:
        raise DamagedFileError(
            f"{path} is damaged: it holds the label {labels.max()}, expected 0 to {classes - 1}."
        )
    return labels


def _read(path: Path, magic: int, what: str) -> Pixels:
    try:
        with _open(path) as stream:
            return _parse(path, stream, magic, what)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFileError(f"{path} is damaged: {error}.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    return path.open("rb")


def _parse(path: Path, stream: IO[bytes], magic: int, what: str) -> Pixels:
    axes = magic & 0xFF
    header = stream.read(4 + 4 * axes)
    if len(header) < 4 + 4 * axes:
        raise DamagedFileError(f"{path} is damaged: it ends after {len(header)} bytes, inside its header.")
    found, *shape = struct.unpack(f">{1 + axes}I", header)
    if found != magic:
        raise DamagedFileError(
            f"{path} is not an idx file of {what}: it begins with the number {found}, expected {magic}."
        )
    expected = 1
    for length in shape:
        expected *= length
    if not 0 < expected <= LARGEST:
        raise DamagedFileError(
            f"{path} is damaged: its header claims the shape {tuple(shape)}, which cannot be."
        )
    body = _read_at_most(stream, expected + 1)
    if len(body) != expected:
        there = f"only {len(body):,}" if len(body) < expected else "more"
        raise DamagedFileError(
            f"{path} is damaged: its header claims {expected:,} bytes of {what}, the file holds {there}."
        )
    return np.frombuffer(body, dtype=np.uint8).reshape(shape)


def _read_at_most(stream: IO[bytes], limit: int) -> bytearray:
    """Up to ``limit`` bytes, in pieces, so that a false claim of a length allocates nothing."""
    body = bytearray()
    while len(body) < limit:
        piece = stream.read(min(CHUNK, limit - len(body)))
        if not piece:
            break
        body += piece
    return body
