"""A round's line of metrics.jsonl. Needs neither pyarrow nor a run directory."""

import json
import math
from typing import Any

from bherd.loop.rounds import Round
from bherd.method import Report


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


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
