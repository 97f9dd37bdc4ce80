"""A round's line of metrics.jsonl. Needs neither pyarrow nor a run directory."""

import json
import math
from typing import Any

from bherd.loop.rounds import Round
from bherd.parts.records import Report


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
    if record.last is not None:
        line |= {f"last_{name}": _finite(value) for name, value in record.last._asdict().items()}
    if record.diverged:
        line["diverged"] = True
    return line


def encode_line(line: dict[str, Any]) -> bytes:
    return json.dumps(line, allow_nan=False).encode() + b"\n"


def uplink_bytes(report: Report) -> int:
    """Bytes that a client sends: the update as it travels, the correction's message, the buffers."""
    rest = [*report.message.values(), *([] if report.buffers is None else [report.buffers])]
    return math.ceil(report.bits / 8) + sum(array.nbytes for array in rest)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
