"""The aggregated results as files: small, the same whatever order or sittings the runs were done in."""

import csv
import io
import typing
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bherd.errors import DamagedFileError
from bherd.runs.files import write_atomically

CONFIGURATIONS, RUNS, COMPARISONS = "configurations.csv", "runs.csv", "comparisons.csv"
CONCENTRATION, THEOREM = "concentration.csv", "theorem.csv"
CURVES, DISTANCES, SELECTION = "curves.parquet", "distances.parquet", "selection.parquet"


@dataclass(frozen=True)
class RunRow:
    """One run, in one line."""

    key: str
    seed: int
    diverged_at: int
    """The round, or 0 for a run that did not diverge."""
    final_loss: float
    tail_loss: float
    """Mean over the last tenth of the evaluations."""
    best_loss: float
    final_accuracy: float
    area: float
    """Mean height of the loss curve."""
    oscillation: float
    rounds_to_target: float


@dataclass(frozen=True)
class ConfigurationRow:
    """One curve: what it is, and its numbers over the seeds (mean, 95% interval)."""

    key: str
    workload: str
    method: str
    alpha: float
    step: str
    server_lr: float
    reshuffle: bool
    partition: str
    clients: int
    epochs: float
    batch_size: int
    lr: float
    rounds: int
    n: int
    diverged: int
    target: float
    """Test accuracy that rounds_to_target refers to; NaN where there is no baseline to set one."""
    reached_target: int
    rounds_to_target: float
    """Median over the seeds; infinite where more than half of the runs never reach it."""
    final_loss: float
    final_loss_low: float
    final_loss_high: float
    final_accuracy: float
    final_accuracy_low: float
    final_accuracy_high: float
    area: float
    area_low: float
    area_high: float
    oscillation: float


@dataclass(frozen=True)
class ComparisonRow:
    """A BHerd curve against a control: area under the loss curve, relative difference, paired over seeds."""

    workload: str
    partition: str
    a: str
    b: str
    a_key: str
    b_key: str
    n: int
    difference: float
    low: float
    high: float
    p: float
    effect: float
    test: str
    rounds_a: float
    rounds_b: float


@dataclass(frozen=True)
class ClaimRow:
    """One comparison that a verdict rests on."""

    number: int
    claim: str
    step: str
    case: str
    what: str
    n: int
    difference: float
    low: float
    high: float
    test: str
    p_met: float
    """That the difference is on the claim's side of its bound; 1 where it is not."""
    p_refuted: float
    p_corrected: float
    """Of the claim under this step, by Holm's method over all claims."""
    outcome: str
    verdict: str
    scale: str


@dataclass(frozen=True)
class ConcentrationRow:
    """How fixed the choice of one client in one run is: 0 as random, 1 the same steps every round."""

    key: str
    seed: int
    client: int
    concentration: float


@dataclass(frozen=True)
class TheoremRow:
    """Theorem 1 along one run: its constants, its conditions and both sides of its bound."""

    partition: str
    step: str
    setting: str
    seed: int
    lr: float
    rounds: int
    smoothness: float
    beta: float
    error_squared: float
    max_steps: int
    largest_lr: float
    most_rounds: float
    conditions: bool
    left: float
    right: float
    holds: bool


Row = TypeVar("Row")
KeyedRow = TypeVar("KeyedRow", RunRow, ConcentrationRow)


def write_rows(path: Path, kind: type[Row], rows: Sequence[Row]) -> None:
    """Rows as CSV, in a form that reads back to the same rows."""
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_text(getattr(row, name)) for name in names])
    write_atomically(path, text.getvalue().encode())


def read_rows(path: Path, kind: type[Row]) -> list[Row]:
    """Rows from CSV; none where there is no such file."""
    if not path.is_file():
        return []
    types = typing.get_type_hints(kind)
    lines = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
    try:
        if lines[0] != list(types):
            raise ValueError(f"the columns are {', '.join(lines[0])}")
        return [
            kind(*(_value(text, wanted) for text, wanted in zip(line, types.values(), strict=True)))
            for line in lines[1:]
        ]
    except (ValueError, IndexError) as error:
        raise DamagedFileError(
            f"{path} is not a table of this version ({error}); remove it and run `python -m paper` again"
        ) from error


def rows_by_key(path: Path, kind: type[KeyedRow]) -> dict[str, list[KeyedRow]]:
    """The rows of each curve from CSV; none where there is no such file."""
    found: dict[str, list[KeyedRow]] = defaultdict(list)
    for row in read_rows(path, kind):
        found[row.key].append(row)
    return dict(found)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.9g}"
    return str(value)


def _value(text: str, kind: Any) -> Any:
    if kind is bool:
        return text == "True"
    return kind(text)


Column = npt.NDArray[Any]


def write_columns(path: Path, columns: dict[str, Column]) -> None:
    """Arrays of equal length as one Parquet file; numbers with a point as 32 bits, byte by byte.

    Neighbours on a curve have the same first bytes, so that the file takes half the room.
    """
    arrays = {
        name: pa.array(array.astype(np.float32) if array.dtype == np.float64 else array)
        for name, array in columns.items()
    }
    table = pa.table(arrays)
    split = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        compression_level=9,
        use_dictionary=[name for name in table.column_names if name not in split],
        use_byte_stream_split=split,
    )
    write_atomically(path, sink.getvalue().to_pybytes())


def read_columns(path: Path) -> dict[str, Column]:
    """The arrays of a Parquet file by name; empty where there is no such file."""
    if not path.is_file():
        return {}
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error
    return {name: table[name].to_numpy() for name in table.column_names}
