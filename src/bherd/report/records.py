"""What the page shows of a run's measurements: its curve, its times, and columns of its tables."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from bherd.loop.seconds import Seconds
from bherd.runs.read import Run


@dataclass(frozen=True)
class CurveView:
    """What was measured at the evaluated rounds."""

    round: list[int] = field(default_factory=list)
    train_loss: list[float | None] = field(default_factory=list)
    test_loss: list[float | None] = field(default_factory=list)
    test_accuracy: list[float | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Time on the clock until the end of the round."""
    uplink_bytes: list[int] = field(default_factory=list)
    """Bytes that all clients together had sent by then."""


def curve_of(run: Run) -> CurveView:
    """The evaluated rounds of a run, column by column."""
    points = run.points
    return CurveView(
        [point.line.round for point in points],
        [point.line.train_loss for point in points],
        [point.line.test_loss for point in points],
        [point.line.test_accuracy for point in points],
        [point.seconds for point in points],
        [point.uplink_bytes for point in points],
    )


def seconds_of(run: Run) -> Seconds:
    """Where the time went, over the whole run."""
    spent = [line.seconds for line in run.lines]
    return Seconds(
        math.fsum(s.local for s in spent),
        math.fsum(s.select for s in spent),
        math.fsum(s.aggregate for s in spent),
        math.fsum(s.evaluate for s in spent),
    )


def column(table: pa.Table, name: str) -> npt.NDArray[Any]:
    """A column as an array; nulls become -1 in whole numbers."""
    values = table.column(name).combine_chunks()
    if pa.types.is_integer(values.type):
        values = values.fill_null(-1)
    array: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return array
