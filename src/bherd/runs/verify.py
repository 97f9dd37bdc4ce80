"""What is recorded of the files of a run, and their bytes, checked against it.

A run that has ended has a summary, which records the length and SHA-256 of every other file. One that
has not has a checkpoint, which does so for the partition and for the beginning of each log.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from bherd.errors import DamagedFileError
from bherd.runs import directory as run_directory
from bherd.runs.files import Mark, MissingFileError, check_bytes, read_bytes
from bherd.runs.header import Header, read_header

Read = TypeVar("Read")


class Recorded(NamedTuple):
    """What the summary or the checkpoint of a run records of its files."""

    summary: dict[str, Any] | None
    header: Header | None

    @property
    def ended(self) -> bool:
        return self.summary is not None and self.summary["status"] in run_directory.ENDED

    @property
    def marks(self) -> dict[str, Mark]:
        """Length and hash of files (of their beginnings, if the run has not ended), by name."""
        if self.ended and self.summary is not None:
            return {name: Mark(**mark) for name, mark in self.summary["files"].items()}
        return {} if self.header is None else self.header.marks


def has_ended(directory: Path) -> bool:
    """Whether the run in a directory has come to its end, by completing or by diverging."""
    return read_recorded(directory).ended


def check_files(directory: Path) -> None:
    """Raise `DamagedFileError` unless every file is what the summary or the checkpoint says."""
    found = read_recorded(directory)
    for name in found.marks:
        content_of(directory, name, found)


def read_summary(directory: Path) -> dict[str, Any] | None:
    """summary.json, checked as far as it says itself; None for a run that has neither ended nor stopped."""
    path = directory / run_directory.SUMMARY
    try:
        content = read_bytes(path)
    except MissingFileError:
        return None
    try:
        summary = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error
    if not isinstance(summary, dict) or summary.get("status") not in run_directory.STATUSES:
        raise DamagedFileError(
            f"{path} is damaged: its status is none of {', '.join(run_directory.STATUSES)}"
        )
    if summary["status"] in run_directory.ENDED:
        _check_files(path, summary.get("files"))
    return summary


def _check_files(path: Path, files: object) -> None:
    """The summary of a run that has ended must have the length and SHA-256 of every final file."""
    found = files if isinstance(files, dict) else {}
    whole = set(run_directory.FINAL) <= set(found) <= {*run_directory.FINAL, run_directory.SNAPSHOTS}
    if not whole or not all(_is_mark(mark) for mark in found.values()):
        raise DamagedFileError(f"{path} is damaged: its list of files is not whole")


def _is_mark(mark: object) -> bool:
    return (
        isinstance(mark, dict)
        and mark.keys() == {"length", "sha256"}
        and type(mark["length"]) is int
        and mark["length"] >= 0
        and isinstance(mark["sha256"], str)
        and len(mark["sha256"]) == 64
    )


def read_verified(directory: Path, read: Callable[[Path, Recorded], Read]) -> Read:
    """Read by what is recorded now; if a file is gone because the run has ended meanwhile, by its summary."""
    before = read_recorded(directory)
    try:
        return read(directory, before)
    except MissingFileError:
        after = read_recorded(directory)
        if before.ended or not after.ended:
            raise
        return read(directory, after)


def read_recorded(directory: Path) -> Recorded:
    summary = read_summary(directory)
    if summary is not None and summary["status"] in run_directory.ENDED:
        return Recorded(summary, None)
    try:
        return Recorded(summary, read_header(directory / run_directory.CHECKPOINT))
    except MissingFileError:
        return Recorded(read_summary(directory), None)  # the run may have ended in between


def content_of(directory: Path, name: str, recorded: Recorded) -> bytes:
    """The checked bytes of a file; a log that is not recorded may be missing, and is empty."""
    mark = recorded.marks.get(name)
    try:
        content = read_bytes(directory / name)
    except MissingFileError:
        if mark is not None and mark.length > 0:
            raise
        return b""
    if mark is not None:
        check_bytes(directory / name, content, mark, whole=recorded.ended or name == run_directory.PARTITION)
    return content
