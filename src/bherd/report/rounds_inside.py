"""The snapshots of a run, packed for the page."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bherd.report.records import column
from bherd.report.thin import encode, short, spread
from bherd.runs.read import Run


@dataclass(frozen=True)
class Shot:
    """One client in one round; see `bherd.loop.snapshots` for the meaning of the numbers."""

    client: int
    x: str
    """float32, base64, as are y and distance."""
    y: str
    distance: str
    order: str
    """uint32, base64, as is kept."""
    kept: str
    mean: tuple[float | None, float | None]
    mean_norm: float | None
    explained: tuple[float | None, float | None]
    spread: float | None
    """S, the standard deviation of the τ gradients over all dimensions, by τ - 1: the mean of k at random is
    S times the root of 1/k - 1/τ away from the mean, root mean square. None where it is not known."""


@dataclass(frozen=True)
class SnapshotRound:
    round: int
    shots: list[Shot]


@dataclass(frozen=True)
class Snapshots:
    rounds: list[SnapshotRound]
    all_rounds: int
    all_clients: int


def snapshots(run: Run, clients: int, budget: int) -> Snapshots | None:
    """The run's snapshots of its first clients, with as many rounds as the budget of steps allows."""
    table = run.snapshots()
    if not table.num_rows:
        return None
    number, client = column(table, "round"), column(table, "client")
    rounds, seen = np.unique(number), np.unique(client)
    shown = np.isin(client, seen[:clients])
    steps = sum(len(order.values) for order in table.column("order").filter(shown))
    fits = max(2, int(len(rounds) * budget / max(1, steps)))
    chosen = rounds[spread(len(rounds), fits)]
    packed = []
    for value in chosen.tolist():
        rows = table.filter((number == value) & shown).to_pylist()
        packed.append(SnapshotRound(value, [_shot(row) for row in rows]))
    return Snapshots(packed, len(rounds), len(seen))


def _shot(row: dict[str, Any]) -> Shot:
    return Shot(
        client=row["client"],
        x=encode(np.array(row["x"], dtype=np.float32)),
        y=encode(np.array(row["y"], dtype=np.float32)),
        distance=encode(np.array(row["distance"], dtype=np.float32)),
        order=encode(np.array(row["order"], dtype=np.uint32)),
        kept=encode(np.array(row["kept"], dtype=np.uint32)),
        mean=(short(row["mean_x"]), short(row["mean_y"])),
        mean_norm=short(row["mean_norm"]),
        explained=(short(row["explained_x"]), short(row["explained_y"])),
        spread=short(_spread(row)),
    )


def _spread(row: dict[str, Any]) -> float | None:
    """From the variance along the first component and the share that it has of the whole."""
    steps, share = len(row["x"]), row["explained_x"]
    if steps < 2 or not share:
        return None
    along = np.array(row["x"], dtype=np.float64)
    return math.sqrt(float(along @ along) / share / (steps - 1))
