"""Writes a run's records as it goes, commits them with checkpoints, and closes them at the end."""

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from safetensors.torch import save
from torch import Tensor

from bherd.loop.rounds import Round
from bherd.loop.state import State
from bherd.runs import directory as run_directory
from bherd.runs.checkpoint import Checkpoint, save_checkpoint
from bherd.runs.files import (
    Log,
    Mark,
    mark_of,
    read_bytes,
    remove,
    sync_directory,
    temporary,
    write_atomically,
    writing,
)
from bherd.runs.header import Header, Origin
from bherd.runs.records import encode_line, metrics_line

LOGS = (run_directory.METRICS, *run_directory.FINAL_OF)
AUTOMATIC_SECONDS = 2.0
MOST_OF_THE_TIME = 0.02
"""The share of a run's time that automatic checkpoints of a large model may take."""


class Recorder:
    """The open records of one run.

    The logs grow by a piece a round. A checkpoint makes them durable first and then names their
    lengths and hashes, so that whatever a kill leaves behind can be cut back to one consistent round.
    """

    def __init__(
        self,
        directory: Path,
        origin: Origin,
        partition: Mark,
        checkpoint_every: int,
        resumed: Checkpoint | None,
        *,
        ledger: bool = True,
        accepted: dict[str, str] | None = None,
    ) -> None:
        self.directory, self.origin, self.partition = directory, origin, partition
        self.accepted = accepted or {}
        self.checkpoint_every, self.ledger = checkpoint_every, ledger
        marks = resumed.header.marks if resumed else {}
        self._logs: dict[str, Log] = {}
        with ExitStack() as opened:
            for name in LOGS:
                self._logs[name] = Log(directory / name, marks.get(name))
                opened.callback(self._logs[name].close)
            self._opened = opened.pop_all()
        self._before = resumed.header.seconds if resumed else 0.0
        self._start = self._last = time.perf_counter()
        self._cost = 0.0

    def add(self, state: State, record: Round) -> dict[str, Any]:
        """Record a round that led to `state`, checkpoint if it is time, and return the metrics line."""
        from bherd.runs import tables

        if record.outcomes:
            self._append(run_directory.CLIENTS_LOG, tables.clients_piece(record))
            if self.ledger:
                self._append(run_directory.LEDGER_LOG, tables.ledger_piece(record))
        snapshots = tables.snapshots_piece(record)
        if snapshots is not None:
            self._append(run_directory.SNAPSHOTS_LOG, snapshots)
        line = metrics_line(record)
        self._logs[run_directory.METRICS].append(encode_line(line))
        if record.diverged:
            self.checkpoint(state, diverged_at=record.round)
        elif self._due(record.round):
            self.checkpoint(state)
        return line

    def _append(self, name: str, piece: bytes) -> None:
        from bherd.runs import tables

        log = self._logs[name]
        log.append(tables.header(name) + piece if log.empty else piece)

    def _due(self, round: int) -> bool:
        if self.checkpoint_every:
            return round % self.checkpoint_every == 0
        wait = max(AUTOMATIC_SECONDS, self._cost / MOST_OF_THE_TIME)
        return time.perf_counter() - self._last >= wait

    @property
    def seconds(self) -> float:
        """Time spent on this run, before a resume included."""
        return self._before + time.perf_counter() - self._start

    def checkpoint(self, state: State, diverged_at: int | None = None) -> dict[str, Mark]:
        """Write a checkpoint of `state`; return the length and hash of every log."""
        begin = time.perf_counter()
        marks = {name: log.commit() for name, log in self._logs.items()}
        marks[run_directory.PARTITION] = self.partition
        header = Header(state.round, marks, self.origin, self.seconds, diverged_at, self.accepted)
        save_checkpoint(self.directory / run_directory.CHECKPOINT, Checkpoint(state, header))
        self._last = time.perf_counter()
        self._cost = self._last - begin
        return marks

    def close(self) -> None:
        self._opened.close()


def finish(
    directory: Path, model: dict[str, Tensor], summary: dict[str, Any], marks: Mapping[str, Mark]
) -> dict[str, Any]:
    """Turn the logs of a run that has ended into its final files, and return its summary.

    The summary comes last and records all others; only then do the logs and the checkpoint go. A
    kill anywhere in here leaves either the checkpoint or the summary, and it can be done again.
    """
    from bherd.runs import tables

    recorded = {name: marks[name] for name in (run_directory.METRICS, run_directory.PARTITION)}
    recorded[run_directory.CONFIG] = mark_of((directory / run_directory.CONFIG).read_bytes())
    for log, final in run_directory.FINAL_OF.items():
        table = tables.decode_log(directory / log, read_bytes(directory / log), ended=True)
        if final == run_directory.SNAPSHOTS and table.num_rows == 0:
            continue
        recorded[final] = _write(directory / final, tables.encode_parquet(table))
    recorded[run_directory.MODEL] = _write(directory / run_directory.MODEL, save(model))
    summary = {**summary, "files": {name: mark._asdict() for name, mark in sorted(recorded.items())}}
    write_summary(directory, summary)
    remove_logs(directory)
    return summary


def _write(path: Path, content: bytes) -> Mark:
    write_atomically(path, content)
    return mark_of(content)


def write_summary(directory: Path, summary: dict[str, Any]) -> None:
    """Write summary.json atomically."""
    write_atomically(directory / run_directory.SUMMARY, json.dumps(summary, indent=2).encode() + b"\n")


def remove_logs(directory: Path) -> None:
    """Remove what only an unfinished run needs, and what a killed one left behind."""
    remove_temporaries(directory)
    for name in (*run_directory.FINAL_OF, run_directory.CHECKPOINT):
        remove(directory / name)
    with writing(directory):
        sync_directory(directory)


def remove_temporaries(directory: Path) -> None:
    """Remove drafts that were being written when an earlier process was killed."""
    for name in run_directory.EVERY_FILE:
        remove(temporary(directory / name))


def remove_run(directory: Path) -> None:
    """Remove every file of a run that never had a round; the configuration goes last."""
    remove_temporaries(directory)
    for name in reversed(run_directory.EVERY_FILE):
        remove(directory / name)
