"""What a checkpoint says of itself: the round, the other files, and the run it belongs to. Needs no torch."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bherd.errors import DamagedFileError
from bherd.runs.files import Mark
from bherd.runs.seal import read_sealed

FORMAT = 3


class Origin(NamedTuple):
    """What a run began with, to notice a resume that no longer matches."""

    config: dict[str, dict[str, Any]]
    """Every setting, by table."""
    environment: dict[str, str]
    """Versions and platform."""
    data: str
    """The fingerprint of the dataset."""
    sources: dict[str, str]
    """SHA-256 of the user's own code, by `package.module:factory`."""


class Header(NamedTuple):
    """The metadata of a checkpoint."""

    round: int
    marks: dict[str, Mark]
    """The length and hash of each log and of the partition, by file name."""
    origin: Origin
    seconds: float
    """Time spent so far."""
    diverged_at: int | None
    accepted: dict[str, str]
    """SHA-256 of the user's own code that replaced the one the run began with, where that was accepted."""


def read_header(path: Path) -> Header:
    """The header of a checkpoint, or `DamagedFileError` naming the file."""
    return parse_header(path, read_sealed(path).metadata)


def encode_header(header: Header) -> str:
    """The text that a checkpoint carries under "bherd"."""
    return json.dumps({"format": FORMAT, **header._asdict(), "origin": header.origin._asdict()})


def parse_header(path: Path, metadata: Mapping[str, Any]) -> Header:
    """The header in a checkpoint's metadata; another format than ours is refused."""
    try:
        tree = json.loads(metadata["bherd"])
        if tree["format"] != FORMAT:
            raise DamagedFileError(
                f"{path} has format {tree['format']}, but this version of bherd reads {FORMAT}: "
                "resume it with the version named in config.toml"
            )
        return Header(
            tree["round"],
            {name: Mark(*mark) for name, mark in tree["marks"].items()},
            Origin(**tree["origin"]),
            tree["seconds"],
            tree["diverged_at"],
            tree["accepted"],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DamagedFileError(f"{path} is damaged: its header is not whole") from error
