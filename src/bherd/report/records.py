"""One run directory, read for the report. Unfinished runs are read as far as they have come."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from bherd.comparison import step_length
from bherd.config import Config
from bherd.method import Indices
from bherd.runs import directory as names


@dataclass(frozen=True)
class Curve:
    """What was measured at the evaluated rounds."""

    round: list[int] = field(default_factory=list)
    train_loss: list[float | None] = field(default_factory=list)
    test_loss: list[float | None] = field(default_factory=list)
    test_accuracy: list[float | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Time on the clock until the end of the round."""
    uplink_bytes: list[int] = field(default_factory=list)
    """Bytes that all clients together had sent by then."""


@dataclass(frozen=True)
class Split:
    """Where the time went, in seconds over the whole run."""

    local: float
    select: float
    aggregate: float
    evaluate: float


@dataclass(frozen=True)
class RunRecord:
    """Everything that the report needs of one run; the big tables are read when they are asked for."""

    directory: Path
    config: Config
    config_text: str
    environment: dict[str, str]
    status: str
    rounds_done: int
    diverged_at: int | None
    seconds: float
    peak_memory_bytes: int | None
    curve: Curve
    split: Split
    step_length: float | None = None
    """Beside FedAvg's, as the summary has it."""

    @property
    def final_accuracy(self) -> float | None:
        """Test accuracy at the last evaluation."""
        values = [value for value in self.curve.test_accuracy if value is not None]
        return values[-1] if values else None

    def clients(self) -> pa.Table:
        return names.read_clients(self.directory)

    def ledger(self) -> pa.Table:
        return names.read_ledger(self.directory)

    def snapshots(self) -> pa.Table:
        return names.read_table(self.directory, names.SNAPSHOTS_LOG)

    def partition(self) -> list[Indices]:
        """The dataset rows of each client, in its order; empty where the file is missing."""
        exists = (self.directory / names.PARTITION).is_file()
        return names.read_partition(self.directory) if exists else []


def read_run(directory: Path) -> RunRecord:
    """A run directory, finished or not."""
    config = names.read_config(directory)
    lines = names.read_metrics(directory)
    summary = names.read_summary(directory) or {}
    diverged = [line["round"] for line in lines if line.get("diverged")]
    return RunRecord(
        directory=directory,
        config=config,
        config_text=(directory / names.CONFIG).read_text(encoding="utf-8"),
        environment=names.read_environment(directory),
        status=str(summary.get("status", "unfinished")),
        rounds_done=lines[-1]["round"] if lines else 0,
        diverged_at=diverged[0] if diverged else None,
        seconds=float(summary.get("seconds", sum(sum(line["seconds"].values()) for line in lines))),
        peak_memory_bytes=summary.get("peak_memory_bytes"),
        curve=_curve(lines),
        split=Split(*(sum(line["seconds"][part] for line in lines) for part in _PARTS)),
        step_length=step_length(summary),
    )


_PARTS = ("local", "select", "aggregate", "evaluate")


def _curve(lines: list[dict[str, Any]]) -> Curve:
    curve = Curve()
    clock, sent = 0.0, 0
    for line in lines:
        clock += sum(line["seconds"].values())
        sent += line["uplink_bytes"]
        if line["test_loss"] is None and line["test_accuracy"] is None:
            continue
        curve.round.append(line["round"])
        curve.train_loss.append(line["train_loss"])
        curve.test_loss.append(line["test_loss"])
        curve.test_accuracy.append(line["test_accuracy"])
        curve.seconds.append(clock)
        curve.uplink_bytes.append(sent)
    return curve


def column(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """A column as an array; nulls become -1 in whole numbers."""
    values = table.column(name).combine_chunks()
    if pa.types.is_integer(values.type):
        values = values.fill_null(-1)
    array: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return array
