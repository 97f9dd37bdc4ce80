"""What a round adds to the records: a metrics line, a row a client, a row a step."""

import json
import math
from typing import Any

import numpy as np
import pyarrow as pa

from bherd.method import Report
from bherd.rounds import Round

CLIENTS_SCHEMA = pa.schema(
    [
        ("round", pa.int32()),
        ("client", pa.int32()),
        ("loss", pa.float64()),
        ("steps", pa.int32()),
        ("kept", pa.int32()),
        ("distance", pa.float64()),
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


def metrics_line(record: Round) -> dict[str, Any]:
    """The round's line of metrics.jsonl; what is missing or not finite is null."""
    evaluation, seconds = record.evaluation, record.seconds
    reports = [outcome.report for outcome in record.outcomes]
    line: dict[str, Any] = {
        "round": record.round,
        "train_loss": _finite(evaluation.train_loss) if evaluation else None,
        "test_loss": _finite(evaluation.test_loss) if evaluation else None,
        "test_accuracy": evaluation.test_accuracy if evaluation else None,
        "clients": len(reports),
        "kept": sum(report.kept for report in reports),
        "steps": sum(report.steps for report in reports),
        "uplink_bytes": sum(uplink_bytes(report) for report in reports),
        "seconds": {
            "local": round(seconds.local, 6),
            "select": round(seconds.select, 6),
            "aggregate": round(seconds.aggregate, 6),
            "evaluate": round(seconds.evaluate, 6),
        },
    }
    if record.diverged:
        line["diverged"] = True
    return line


def encode_line(line: dict[str, Any]) -> bytes:
    return json.dumps(line, allow_nan=False).encode() + b"\n"


def uplink_bytes(report: Report) -> int:
    """Bytes of the arrays that a client sends: the kept sum, the correction's extra, the buffers."""
    arrays = (report.kept_sum, report.extra, report.buffers)
    return sum(array.nbytes for array in arrays if array is not None)


def clients_batch(record: Round) -> pa.RecordBatch:
    """The round's rows of clients.parquet."""
    return pa.RecordBatch.from_pylist(
        [
            {
                "round": record.round,
                "client": outcome.report.client,
                "loss": outcome.loss,
                "steps": outcome.report.steps,
                "kept": outcome.report.kept,
                "distance": outcome.distance,
                "seconds": outcome.local_seconds + outcome.select_seconds,
                "select_seconds": outcome.select_seconds,
            }
            for outcome in record.outcomes
        ],
        schema=CLIENTS_SCHEMA,
    )


def ledger_batch(record: Round) -> pa.RecordBatch:
    """The round's rows of ledger.parquet: was the step kept, and as the how-manieth."""
    steps = np.array([outcome.report.steps for outcome in record.outcomes], dtype=np.int64)
    rank = np.full(int(steps.sum()), -1, dtype=np.int32)
    start = 0
    for outcome in record.outcomes:
        rank[start + outcome.kept] = np.arange(len(outcome.kept))
        start += outcome.report.steps
    clients = np.array([outcome.report.client for outcome in record.outcomes], dtype=np.int32)
    first = np.repeat(np.cumsum(steps) - steps, steps)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.full(len(rank), record.round, dtype=np.int32)),
            pa.array(np.repeat(clients, steps)),
            pa.array((np.arange(len(rank)) - first).astype(np.int32)),
            pa.array(rank >= 0),
            pa.array(rank, mask=rank < 0),
        ],
        schema=LEDGER_SCHEMA,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
