"""A run directory, read as one consistent whole: the only reader.

The bytes of each file are taken once, checked, and parsed; no path is opened twice. In a run that has
ended the summary records the length and SHA-256 of every other file. In one that has not, the last
checkpoint does so for the partition and for the beginning of each log. What was written after it is read
too, and is the only thing that cannot be checked yet.
"""

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bherd.config import Config, difference, from_dict
from bherd.errors import DamagedFileError, InputError
from bherd.runs import directory as run_directory
from bherd.runs.files import MissingFileError, check_bytes, read_bytes
from bherd.runs.header import Header
from bherd.runs.lines import Line as Line
from bherd.runs.lines import parse_lines
from bherd.runs.verify import Recorded, check_files, content_of, read_verified
from bherd.runs.verify import has_ended as has_ended
from bherd.runs.verify import read_summary as read_summary
from bherd.step_length import Step, read_step
from bherd.toml import parse_toml

if TYPE_CHECKING:
    import pyarrow as pa

    from bherd.indices import Indices


class Point(NamedTuple):
    """An evaluated round, and what it took to get there."""

    line: Line
    seconds: float
    """Time on the clock until the end of the round."""
    uplink_bytes: int
    """Bytes that all clients together had sent by then."""


@dataclass(frozen=True)
class Run:
    """One run directory, finished or not. The large tables are read when they are asked for."""

    directory: Path
    config: Config
    config_text: str
    environment: dict[str, str]
    """Versions and platform that the run began with."""
    sources: dict[str, str]
    """SHA-256 of the user's own code that the run began with, by `package.module:factory`."""
    lines: tuple[Line, ...]
    summary: Mapping[str, Any]
    """summary.json; empty for a run that has come neither to an end nor to a stop."""

    @property
    def status(self) -> str:
        """complete, diverged, interrupted, or unfinished: running now, or killed."""
        return str(self.summary.get("status", "unfinished"))

    @property
    def ended(self) -> bool:
        """Whether it has come to its end, by completing or by diverging."""
        return self.status in run_directory.ENDED

    @property
    def rounds_done(self) -> int:
        return self.lines[-1].round if self.lines else 0

    @property
    def diverged_at(self) -> int | None:
        """The round that gave NaN or infinity, if one did."""
        return next((line.round for line in self.lines if line.diverged), None)

    @property
    def points(self) -> list[Point]:
        """Every evaluated round, with the time and the bytes until then."""
        found, clock, sent = [], 0.0, 0
        for line in self.lines:
            clock += line.seconds.total
            sent += line.uplink_bytes
            if line.evaluated:
                found.append(Point(line, clock, sent))
        return found

    @property
    def final_accuracy(self) -> float | None:
        """Test accuracy at the last evaluation."""
        values = [line.test_accuracy for line in self.lines if line.test_accuracy is not None]
        return values[-1] if values else None

    @property
    def final(self) -> Line | None:
        """The last round after which the model was measured."""
        return next((line for line in reversed(self.lines) if line.evaluated), None)

    @property
    def seconds(self) -> float:
        """Time spent, on the clock."""
        return float(self.summary.get("seconds", math.fsum(line.seconds.total for line in self.lines)))

    @property
    def step(self) -> Step | None:
        """What its clients kept, and how long its steps were by it; None for a run without a round."""
        return read_step(self.summary)

    @property
    def peak_memory_bytes(self) -> int | None:
        found: int | None = self.summary.get("peak_memory_bytes")
        return found

    def clients(self) -> "pa.Table":
        """One row per client and round."""
        return _table(self.directory, run_directory.CLIENTS_LOG)

    def ledger(self) -> "pa.Table":
        """One row per client, round and local step: was it kept, and its rank."""
        return _table(self.directory, run_directory.LEDGER_LOG)

    def snapshots(self) -> "pa.Table":
        """One row per client in each round whose gradients were pictured."""
        return _table(self.directory, run_directory.SNAPSHOTS_LOG)

    def check_files(self) -> None:
        """Raise `DamagedFileError` unless every file is what the summary or the checkpoint says."""
        check_files(self.directory)

    def partition(self) -> "list[Indices]":
        """The dataset rows of each client, in its order; empty if the run was killed before it had any."""
        return read_verified(self.directory, _partition)


def read_run(directory: Path) -> Run:
    """A run directory, finished or not.

    Raises:
        InputError: it is no run directory.
        DamagedFileError: a file is missing, or not what the summary or the checkpoint says.
    """
    return read_verified(directory, _run)


def read_config(directory: Path) -> Config:
    """The configuration of a run directory, unverified: for what has to know it before the run is read."""
    return _parse_config(directory, _config_bytes(directory))[0]


def lines_so_far(directory: Path) -> tuple[Line, ...]:
    """The rounds of a run that another process is writing, to follow it; not checked."""
    path = directory / run_directory.METRICS
    try:
        return parse_lines(path, read_bytes(path))
    except MissingFileError:
        return ()


def _run(directory: Path, recorded: Recorded) -> Run:
    content = _config_bytes(directory)
    if recorded.ended:
        check_bytes(
            directory / run_directory.CONFIG, content, recorded.marks[run_directory.CONFIG], whole=True
        )
    written = _parse_config(directory, content)
    if recorded.header is not None:
        _check_origin(directory, written, recorded.header)
    return Run(
        directory,
        written.config,
        content.decode(),
        written.environment,
        written.sources,
        parse_lines(
            directory / run_directory.METRICS, content_of(directory, run_directory.METRICS, recorded)
        ),
        recorded.summary or {},
    )


def _config_bytes(directory: Path) -> bytes:
    try:
        return read_bytes(directory / run_directory.CONFIG)
    except MissingFileError as error:
        raise InputError(f"{directory} is not a run directory: it has no {run_directory.CONFIG}") from error


class _Written(NamedTuple):
    """What config.toml says."""

    config: Config
    environment: dict[str, str]
    sources: dict[str, str]


def _parse_config(directory: Path, content: bytes) -> _Written:
    path = directory / run_directory.CONFIG
    tree = parse_toml(path, content)
    texts = {name: tree.pop(name, usual) for name, usual in (("environment", None), ("sources", {}))}
    for name, table in texts.items():
        if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
            raise DamagedFileError(f"{path} is damaged: its table [{name}] is not whole")
    return _Written(from_dict(tree, source=str(path)), texts["environment"], texts["sources"])


def _check_origin(directory: Path, written: _Written, header: Header) -> None:
    """Refuse a config.toml that is not the one that the run began with.

    Args:
        directory: the run directory.
        written: what its config.toml says.
        header: the checkpoint's; a setting that is younger than the run counts with its default.
    """
    path = directory / run_directory.CONFIG
    other = difference(
        from_dict(header.origin.config, source=str(directory / run_directory.CHECKPOINT)), written.config
    )
    if other is not None:
        raise InputError(
            f"{directory} cannot be read: {other.path} is {other.now!r} in {run_directory.CONFIG}, but "
            f"the run began with {other.before!r}; put it back, or start a new run"
        )
    for table in ("environment", "sources"):
        if getattr(written, table) != getattr(header.origin, table):
            raise DamagedFileError(
                f"{path} is damaged: its table [{table}] is not the one that the run began with; "
                "nothing was changed"
            )


def _table(directory: Path, log: str) -> "pa.Table":
    return read_verified(directory, lambda _, recorded: _decode(directory, log, recorded))


def _decode(directory: Path, log: str, recorded: Recorded) -> "pa.Table":
    from bherd.runs import tables

    if not recorded.ended:
        return tables.decode_log(directory / log, content_of(directory, log, recorded), ended=False)
    final = run_directory.FINAL_OF[log]
    if final not in recorded.marks:  # snapshots, of a run that took none
        return tables.empty(log)
    return tables.decode_parquet(directory / final, content_of(directory, final, recorded), log)


def _partition(directory: Path, recorded: Recorded) -> "list[Indices]":
    content = content_of(directory, run_directory.PARTITION, recorded)
    return decode_partition(directory / run_directory.PARTITION, content) if content else []


def decode_partition(path: Path, content: bytes) -> "list[Indices]":
    """The dataset rows of each client in the bytes of partition.npz."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            rows, sizes = stored["rows"], stored["sizes"]
            if rows.dtype != np.int64 or sizes.dtype != np.int64 or sizes.sum() != len(rows):
                raise ValueError(f"{len(rows)} rows for clients that hold {sizes.sum()}")
            return np.split(rows, np.cumsum(sizes)[:-1])
    except Exception as error:  # numpy and zipfile raise many kinds on damaged input
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error
