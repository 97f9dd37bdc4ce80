"""Writes a run's records as it goes, commits them with checkpoints, and closes them at the end."""

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.torch import save
from torch import Tensor

from bherd.engines.base import State
from bherd.rounds import Round
from bherd.runs import directory as names
from bherd.runs.checkpoint import Checkpoint, save_checkpoint
from bherd.runs.files import Log, Mark, write_atomically
from bherd.runs.records import (
    CLIENTS_SCHEMA,
    LEDGER_SCHEMA,
    clients_batch,
    encode_line,
    ledger_batch,
    metrics_line,
)
from bherd.snapshots import SNAPSHOTS_SCHEMA, snapshots_batch

LOGS = (names.METRICS, names.CLIENTS_LOG, names.LEDGER_LOG, names.SNAPSHOTS_LOG)
AUTOMATIC_SECONDS = 2.0


class Recorder:
    """The open records of one run.

    The logs grow by a piece a round. A checkpoint makes them durable first and then names their
    lengths and hashes, so that whatever a kill leaves behind can be cut back to one consistent round.
    """

    def __init__(
        self,
        directory: Path,
        settings: dict[str, Any],
        checkpoint_every: int,
        resumed: Checkpoint | None,
        *,
        ledger: bool = True,
    ) -> None:
        self.directory, self.settings = directory, settings
        self.checkpoint_every, self.ledger = checkpoint_every, ledger
        marks = resumed.marks if resumed else {}
        self._logs = {name: Log(directory / name, marks.get(name)) for name in LOGS}
        for name, schema in (
            (names.CLIENTS_LOG, CLIENTS_SCHEMA),
            (names.LEDGER_LOG, LEDGER_SCHEMA),
            (names.SNAPSHOTS_LOG, SNAPSHOTS_SCHEMA),
        ):
            if self._logs[name].empty:
                self._logs[name].append(schema.serialize().to_pybytes())
        self._before = resumed.seconds if resumed else 0.0
        self._start = self._last = time.perf_counter()

    def add(self, state: State, record: Round) -> dict[str, Any]:
        """Record a round that led to `state`, checkpoint if it is time, and return the metrics line."""
        line = metrics_line(record)
        self._logs[names.METRICS].append(encode_line(line))
        if record.outcomes:
            self._logs[names.CLIENTS_LOG].append(clients_batch(record).serialize().to_pybytes())
            if self.ledger:
                self._logs[names.LEDGER_LOG].append(ledger_batch(record).serialize().to_pybytes())
        shots = [(o.report.client, o.kept, o.snapshot) for o in record.outcomes if o.snapshot]
        if shots:
            batch = snapshots_batch(record.round, shots)
            self._logs[names.SNAPSHOTS_LOG].append(batch.serialize().to_pybytes())
        if record.diverged:
            self.checkpoint(state, diverged_at=record.round)
        elif self._due(record.round):
            self.checkpoint(state)
        return line

    def _due(self, round: int) -> bool:
        if self.checkpoint_every:
            return round % self.checkpoint_every == 0
        return time.perf_counter() - self._last >= AUTOMATIC_SECONDS

    @property
    def seconds(self) -> float:
        """Time spent on this run, earlier sittings included."""
        return self._before + time.perf_counter() - self._start

    def checkpoint(self, state: State, diverged_at: int | None = None) -> None:
        """Commit everything up to `state`."""
        marks: dict[str, Mark] = {name: log.commit() for name, log in self._logs.items()}
        save_checkpoint(
            self.directory / names.CHECKPOINT,
            Checkpoint(state, marks, self.settings, self.seconds, diverged_at),
        )
        self._last = time.perf_counter()

    def close(self) -> None:
        for log in self._logs.values():
            log.close()


def finish(directory: Path, model: dict[str, Tensor], summary: dict[str, Any]) -> None:
    """Turn the logs of a run that has ended into its final files. Can be repeated after a kill."""
    for log, final in (
        (names.CLIENTS_LOG, names.CLIENTS),
        (names.LEDGER_LOG, names.LEDGER),
        (names.SNAPSHOTS_LOG, names.SNAPSHOTS),
    ):
        table = read_log(directory / log)
        if final == names.SNAPSHOTS and table.num_rows == 0:
            continue
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        write_atomically(directory / final, sink.getvalue().to_pybytes())
    write_atomically(directory / names.MODEL, save(model))
    write_summary(directory, summary)
    tidy(directory)


def write_summary(directory: Path, summary: dict[str, Any]) -> None:
    write_atomically(directory / names.SUMMARY, json.dumps(summary, indent=2).encode() + b"\n")


def tidy(directory: Path) -> None:
    """Remove what only an unfinished run needs."""
    for name in (names.CLIENTS_LOG, names.LEDGER_LOG, names.SNAPSHOTS_LOG, names.CHECKPOINT):
        (directory / name).unlink(missing_ok=True)


def read_log(path: Path) -> pa.Table:
    """A growing Arrow log as a table."""
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_stream(source).read_all()
