"""The tables of one scale, read back. Figures and verdicts are made from nothing else."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from bherd.errors import DamagedFileError
from bherd.experiments import tables
from bherd.experiments.grid import Curve
from bherd.experiments.scales import Scale, Workload, make_scale
from bherd.experiments.statistics import Band, Comparison, Floats, compare, exceeds
from bherd.experiments.tables import (
    Column,
    ConcentrationRow,
    ConfigurationRow,
    RunRow,
    TheoremRow,
)
from bherd.runs.files import write_atomically

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

    def terms(self, workload: Workload, curves: Iterable[Curve]) -> str:
        """The size of an experiment with these curves, for captions: what they share, and how many seeds."""
        curves = list(curves)
        counts = {self.configurations[c.key].n for c in curves if c.key in self.configurations} or {0}
        least, most = min(counts), max(counts)
        seeds = f"{most}" if least == most else f"{least} to {most}"
        parts = [workload.title, f"T={workload.rounds}"]
        batches = {curve.config.train.batch_size for curve in curves}
        rates = {curve.config.train.lr for curve in curves}
        parts += [f"B={batch}" for batch in batches if len(batches) == 1]
        parts += [f"$\\eta$={rate:g}" for rate in rates if len(rates) == 1]
        return ", ".join([*parts, f"{seeds} {'seed' if most == 1 else 'seeds'}"])

    def compare(self, a: Curve, b: Curve) -> Comparison:
        """The area under A's loss curve against B's, over the seeds that both were run with."""
        return compare(*self._paired(a, b, lambda row: row.area))

    def oscillates(self, a: Curve, b: Curve, factor: float) -> Comparison:
        """Whether A oscillates more than `factor` times as much as B."""
        return exceeds(*self._paired(a, b, lambda row: row.oscillation), factor)

    def oscillation(self, curve: Curve) -> float:
        """The mean oscillation of a curve that was run."""
        return self.configurations[curve.key].oscillation

    def _paired(self, a: Curve, b: Curve, value: Callable[[RunRow], float]) -> tuple[Floats, Floats]:
        ours = {row.seed: value(row) for row in self.runs.get(a.key, [])}
        theirs = {row.seed: value(row) for row in self.runs.get(b.key, [])}
        seeds = sorted(ours.keys() & theirs.keys())
        return np.array([ours[s] for s in seeds]), np.array([theirs[s] for s in seeds])


def write_scale(out: Path, scale: Scale) -> None:
    """Note which scale the tables are of, and whether CIFAR-10 was there."""
    note = {"scale": scale.name, "cifar": "synthetic" not in scale.cnn_cifar.dataset}
    write_atomically(out / SCALE_FILE, json.dumps(note).encode() + b"\n")


def read_results(out: Path) -> Results:
    """The tables in a folder that `bherd reproduce` wrote."""
    try:
        note = json.loads((out / SCALE_FILE).read_text(encoding="utf-8"))
        scale = make_scale(note["scale"], bool(note["cifar"]))
    except (OSError, ValueError, KeyError) as error:
        raise DamagedFileError(f"{out} holds no readable results of `bherd reproduce`: {error}") from error
    configurations = tables.read_rows(out / tables.CONFIGURATIONS, ConfigurationRow)
    runs: dict[str, list[RunRow]] = defaultdict(list)
    for row in tables.read_rows(out / tables.RUNS, RunRow):
        runs[row.key].append(row)
    concentrations: dict[str, list[ConcentrationRow]] = defaultdict(list)
    for found in tables.read_rows(out / tables.CONCENTRATION, ConcentrationRow):
        concentrations[found.key].append(found)
    return Results(
        scale,
        {row.key: row for row in configurations},
        dict(runs),
        _trajectories(tables.read_columns(out / tables.CURVES)),
        _distances(tables.read_columns(out / tables.DISTANCES)),
        _heats(tables.read_columns(out / tables.SELECTION)),
        dict(concentrations),
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
