"""The tables of one scale, read back. Figures and verdicts are made from nothing else."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from bherd.errors import DamagedFileError
from bherd.runs.files import write_atomically
from bherd.statistics import Band, Difference, Floats, paired_ratio
from paper import tables
from paper.grid import Curve
from paper.measures import CALM
from paper.scales import Scale, Workload, make_scale
from paper.tables import (
    Column,
    ConcentrationRow,
    ConfigurationRow,
    RunRow,
    TheoremRow,
)

SCALE_FILE = "scale.json"


@dataclass(frozen=True)
class Trajectory:
    """A curve over the rounds, with its bands over the seeds."""

    rounds: Column
    loss: Band
    accuracy: Band


@dataclass(frozen=True)
class Heat:
    """How often each step was kept: `share` has the shape (stretches of rounds, steps)."""

    rounds: Column
    share: Floats


@dataclass(frozen=True)
class Results:
    """Everything that one scale's tables say, by the key of the curve."""

    scale: Scale
    configurations: dict[str, ConfigurationRow]
    runs: dict[str, list[RunRow]]
    trajectories: dict[str, Trajectory]
    distances: dict[str, dict[int, Band]]
    heats: dict[str, dict[int, Heat]]
    concentrations: dict[str, list[ConcentrationRow]]
    theorem: list[TheoremRow]

    def has(self, *curves: Curve) -> bool:
        """Whether all these curves were run."""
        return all(curve.key in self.configurations for curve in curves)

    def terms(self, workload: Workload, curves: Iterable[Curve], shown: int | None = None) -> str:
        """The size of an experiment with these curves, for captions: what they share, and how many seeds (of
        which only some may be shown)."""
        curves = list(curves)
        seeds = self.seed_range(curves) if shown is None else str(shown)
        parts = [workload.title, f"T={workload.rounds}"]
        batches = {curve.settings.batch_size for curve in curves}
        rates = {curve.settings.lr for curve in curves}
        parts += [f"B={batch}" for batch in batches if len(batches) == 1]
        parts += [f"$\\eta$={rate:g}" for rate in rates if len(rates) == 1]
        return ", ".join([*parts, f"{seeds} {'seed' if seeds == '1' else 'seeds'}"])

    def seed_range(self, curves: Iterable[Curve]) -> str:
        """With how many seeds these curves were run: '10', or '3 to 5'."""
        counts = {self.configurations[c.key].n for c in curves if c.key in self.configurations} or {0}
        least, most = min(counts), max(counts)
        return f"{most}" if least == most else f"{least} to {most}"

    def areas(self, curve: Curve) -> dict[int, float]:
        """The area under each seed's loss curve; infinite where it diverged."""
        return {row.seed: row.area for row in self.runs.get(curve.key, [])}

    def oscillations(self, curve: Curve) -> dict[int, float]:
        """How much each seed's loss curve oscillates, at least as much as a calm one."""
        return {row.seed: max(row.oscillation, CALM) for row in self.runs.get(curve.key, [])}

    def endings(self, curve: Curve) -> dict[int, float]:
        """The mean loss of the last tenth of each seed's run; infinite where it diverged."""
        return {row.seed: row.tail_loss for row in self.runs.get(curve.key, [])}

    def lowest(self, curve: Curve) -> dict[int, float]:
        """The lowest loss of each seed's run; 1 where it diverged, so that its ending lies above it."""
        return {row.seed: 1.0 if row.diverged_at else row.best_loss for row in self.runs.get(curve.key, [])}

    def compare(self, a: Curve, b: Curve) -> Difference:
        """The area under A's loss curve against B's, over the seeds that both were run with."""
        return paired_ratio(self.areas(a), self.areas(b))


def write_scale(out: Path, scale: Scale) -> None:
    """Note which scale the tables are of, and whether CIFAR-10 was there."""
    note = {"scale": scale.name, "cifar": "synthetic" not in scale.cnn_cifar.dataset}
    write_atomically(out / SCALE_FILE, json.dumps(note).encode() + b"\n")


def read_scale(out: Path) -> Scale:
    """The scale of the tables in a folder."""
    try:
        note = json.loads((out / SCALE_FILE).read_text(encoding="utf-8"))
        return make_scale(note["scale"], bool(note["cifar"]))
    except (OSError, ValueError, KeyError) as error:
        raise DamagedFileError(f"{out} holds no readable results of `python -m paper`: {error}") from error


def read_results(out: Path) -> Results:
    """The tables in a folder that `python -m paper` wrote."""
    scale = read_scale(out)
    configurations = tables.read_rows(out / tables.CONFIGURATIONS, ConfigurationRow)
    return Results(
        scale,
        {row.key: row for row in configurations},
        tables.rows_by_key(out / tables.RUNS, RunRow),
        _trajectories(tables.read_columns(out / tables.CURVES)),
        _distances(tables.read_columns(out / tables.DISTANCES)),
        _heats(tables.read_columns(out / tables.SELECTION)),
        tables.rows_by_key(out / tables.CONCENTRATION, ConcentrationRow),
        tables.read_rows(out / tables.THEOREM, TheoremRow),
    )


def _groups(columns: dict[str, Column], *names: str) -> list[slice]:
    """The stretches of rows in which the named columns do not change."""
    if not columns:
        return []
    change = np.zeros(len(columns[names[0]]) - 1, dtype=np.bool_)
    for name in names:
        change |= columns[name][1:] != columns[name][:-1]
    edges = [0, *(np.flatnonzero(change) + 1).tolist(), len(columns[names[0]])]
    return [slice(a, b) for a, b in pairwise(edges)]


def _trajectories(columns: dict[str, Column]) -> dict[str, Trajectory]:
    found = {}
    for rows in _groups(columns, "key"):
        loss, accuracy = (
            Band(*(columns[name][rows] for name in (kind, f"{kind}_low", f"{kind}_high")))
            for kind in ("loss", "accuracy")
        )
        found[str(columns["key"][rows][0])] = Trajectory(columns["round"][rows], loss, accuracy)
    return found


def _distances(columns: dict[str, Column]) -> dict[str, dict[int, Band]]:
    found: dict[str, dict[int, Band]] = defaultdict(dict)
    for rows in _groups(columns, "key", "client"):
        series = Band(*(columns[name][rows] for name in ("distance", "low", "high")))
        found[str(columns["key"][rows][0])][int(columns["client"][rows][0])] = series
    return dict(found)


def _heats(columns: dict[str, Column]) -> dict[str, dict[int, Heat]]:
    found: dict[str, dict[int, Heat]] = defaultdict(dict)
    for rows in _groups(columns, "key", "client"):
        first = columns["round"][rows]
        share = columns["share"][rows].reshape(len(np.unique(first)), -1).astype(np.float64)
        key, client = str(columns["key"][rows][0]), int(columns["client"][rows][0])
        found[key][client] = Heat(np.unique(first), share)
    return dict(found)
