"""A safetensors file that carries the SHA-256 of all of itself, header included.

The digest stands in the file's metadata under "sha256" and is taken with 64 zeros in its place. The
file stays an ordinary safetensors file, and a single flipped bit anywhere in it is noticed. Reading
needs no torch.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from bherd.errors import DamagedFileError
from bherd.runs.files import read_bytes

BLANK = "0" * 64
_KEY = b'"sha256":"'


class Sealed(NamedTuple):
    """The verified bytes of a file, and the metadata in it."""

    content: bytes
    metadata: dict[str, Any]


def seal(content: bytes) -> tuple[bytes | memoryview, ...]:
    """The pieces of a file whose metadata holds `BLANK` under "sha256", with the digest put in."""
    place = _place(content)
    view = memoryview(content)
    digest = hashlib.sha256(content).hexdigest().encode()
    return view[:place], digest, view[place + len(BLANK) :]


def read_sealed(path: Path) -> Sealed:
    """Read a sealed file, or raise `DamagedFileError` naming it."""
    content = read_bytes(path)
    place = _place(content)
    if place < 0 or _digest(content, place) != content[place : place + len(BLANK)]:
        raise DamagedFileError(
            f"{path} is damaged: its contents do not match their checksum; nothing was changed"
        )
    header = json.loads(content[8 : 8 + _header_length(content)])
    return Sealed(content, header["__metadata__"])


def _header_length(content: bytes) -> int:
    return int.from_bytes(content[:8], "little")


def _place(content: bytes) -> int:
    """Where the digest stands, or -1."""
    found = content.find(_KEY, 8, 8 + _header_length(content))
    return found if found < 0 else found + len(_KEY)


def _digest(content: bytes, place: int) -> bytes:
    view = memoryview(content)
    digest = hashlib.sha256(view[:place])
    digest.update(BLANK.encode())
    digest.update(view[place + len(BLANK) :])
    return digest.hexdigest().encode()
