"""The Arrow side of the records: one row per client, one per step, and the way to Parquet.

While a run goes on, a table is a log: an Arrow IPC stream, which grows by one batch a round. When it has
ended it is a Parquet file. This module is imported when the first round is recorded or read, not
before, because pyarrow takes its time. The hot path builds columns from buffers: pyarrow's converters
would import pandas wherever that is installed.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bherd.errors import DamagedFileError
from bherd.loop.rounds import Round
from bherd.runs import directory as run_directory

CLIENTS_SCHEMA = pa.schema(
    [
        ("round", pa.int32()),
        ("client", pa.int32()),
        ("loss", pa.float64()),
        ("steps", pa.int32()),
        ("kept", pa.int32()),
        ("distance", pa.float64()),
        ("random_distance", pa.float64()),
        ("seconds", pa.float64()),
        ("select_seconds", pa.float64()),
    ]
)
LEDGER_SCHEMA = pa.schema(
    [
        ("round", pa.int32()),
        ("client", pa.int32()),
        ("step", pa.int32()),
        ("kept", pa.bool_()),
        ("rank", pa.int32()),
    ]
)
SNAPSHOTS_SCHEMA = pa.schema(
    [
        ("round", pa.int32()),
        ("client", pa.int32()),
        ("x", pa.list_(pa.float32())),
        ("y", pa.list_(pa.float32())),
        ("mean_x", pa.float64()),
        ("mean_y", pa.float64()),
        ("mean_norm", pa.float64()),
        ("explained_x", pa.float64()),
        ("explained_y", pa.float64()),
        ("order", pa.list_(pa.int32())),
        ("distance", pa.list_(pa.float64())),
        ("kept", pa.list_(pa.int32())),
    ]
)
SCHEMAS: dict[str, pa.Schema] = {
    run_directory.CLIENTS_LOG: CLIENTS_SCHEMA,
    run_directory.LEDGER_LOG: LEDGER_SCHEMA,
    run_directory.SNAPSHOTS_LOG: SNAPSHOTS_SCHEMA,
}


def header(log: str) -> bytes:
    """How the log of this name begins."""
    content: bytes = SCHEMAS[log].serialize().to_pybytes()
    return content


def clients_piece(record: Round) -> bytes:
    """What a round adds to the log of clients."""
    outcomes = record.outcomes
    reports = [outcome.report for outcome in outcomes]
    columns: list[npt.NDArray[Any]] = [
        np.full(len(reports), record.round, np.int32),
        np.array([report.client for report in reports], np.int32),
        np.array([outcome.loss for outcome in outcomes], np.float64),
        np.array([report.steps for report in reports], np.int32),
        np.array([report.kept for report in reports], np.int32),
        np.array([outcome.distance for outcome in outcomes], np.float64),
        np.array([outcome.random_distance for outcome in outcomes], np.float64),
        np.array([o.local_seconds + o.select_seconds for o in outcomes], np.float64),
        np.array([outcome.select_seconds for outcome in outcomes], np.float64),
    ]
    arrays = [_column(field.type, values) for field, values in zip(CLIENTS_SCHEMA, columns, strict=True)]
    return _piece(pa.RecordBatch.from_arrays(arrays, schema=CLIENTS_SCHEMA))


def ledger_piece(record: Round) -> bytes:
    """What a round adds to the ledger. One row per local step: whether it was kept and, if so, its rank."""
    steps = np.array([outcome.report.steps for outcome in record.outcomes], dtype=np.int64)
    starts = np.cumsum(steps) - steps
    rows = int(steps.sum())
    rank = np.full(rows, -1, dtype=np.int32)
    for start, outcome in zip(starts.tolist(), record.outcomes, strict=True):
        rank[start + outcome.kept] = np.arange(len(outcome.kept))
    clients = np.array([outcome.report.client for outcome in record.outcomes], dtype=np.int32)
    kept = np.packbits(rank >= 0, bitorder="little")
    arrays = [
        _column(pa.int32(), np.full(rows, record.round, np.int32)),
        _column(pa.int32(), np.repeat(clients, steps)),
        _column(pa.int32(), (np.arange(rows) - np.repeat(starts, steps)).astype(np.int32)),
        pa.Array.from_buffers(pa.bool_(), rows, [None, pa.py_buffer(kept)]),
        pa.Array.from_buffers(pa.int32(), rows, [pa.py_buffer(kept), pa.py_buffer(rank)]),
    ]
    return _piece(pa.RecordBatch.from_arrays(arrays, schema=LEDGER_SCHEMA))


def snapshots_piece(record: Round) -> bytes | None:
    """What a round adds to the snapshots; None where no gradients were pictured."""
    rows = [
        {
            "round": record.round,
            "client": outcome.report.client,
            "x": shot.plane[:, 0],
            "y": shot.plane[:, 1],
            "mean_x": shot.mean[0],
            "mean_y": shot.mean[1],
            "mean_norm": shot.mean_norm,
            "explained_x": shot.explained[0],
            "explained_y": shot.explained[1],
            "order": shot.order.astype(np.int32),
            "distance": shot.distance,
            "kept": outcome.kept.astype(np.int32),
        }
        for outcome in record.outcomes
        if (shot := outcome.snapshot) is not None
    ]
    return _piece(pa.RecordBatch.from_pylist(rows, schema=SNAPSHOTS_SCHEMA)) if rows else None


def _column(kind: pa.DataType, values: npt.NDArray[Any]) -> pa.Array:
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _piece(batch: pa.RecordBatch) -> bytes:
    content: bytes = batch.serialize().to_pybytes()
    return content


def empty(log: str) -> pa.Table:
    """The table behind a log that has no rows."""
    return pa.Table.from_batches([], schema=SCHEMAS[log])


def decode_log(path: Path, content: bytes, *, ended: bool) -> pa.Table:
    """The bytes of a log as a table.

    Args:
        path: the log, whose name says which table it is.
        content: its bytes.
        ended: whether it must be whole; else a batch that is not is the end of it.
    """
    batches: list[pa.RecordBatch] = []
    if not content:
        return empty(path.name)
    try:
        with pa.ipc.open_stream(pa.BufferReader(content)) as stream:
            for batch in stream:
                batches.append(batch)  # noqa: PERF402  what was read before a cut is kept
    except (pa.ArrowException, OSError) as error:
        if ended:
            raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error
    return pa.Table.from_batches(batches, schema=SCHEMAS[path.name])


def encode_parquet(table: pa.Table) -> bytes:
    """A table as the contents of a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def decode_parquet(path: Path, content: bytes, log: str) -> pa.Table:
    """The bytes of a Parquet file as the table that its log would have become."""
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            return file.read().cast(SCHEMAS[log])
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error
