"""From run directories to tables. Only finished runs count; diverged ones do, and are shown as such."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bherd import statistics
from bherd.errors import DamagedFileError
from bherd.runs import read
from bherd.statistics import Floats
from paper import measures, tables
from paper.grid import CASES, Case, Curve, at_defaults, make_curve
from paper.kept import Kept, read_kept
from paper.scales import Scale
from paper.tables import Column, ConcentrationRow, ConfigurationRow, RunRow

TARGET_BELOW = 0.005
"""The target is the baseline FedAvg's mean final accuracy less half a percentage point."""
ROUND_BINS = 100


class Run(NamedTuple):
    """What the tables need of one finished run."""

    seed: int
    directory: Path
    rounds: Floats
    loss: Floats
    accuracy: Floats
    diverged_at: int


def run_directory(work: Path, curve: Curve, seed: int) -> Path:
    """Where the run of a curve with a seed lives."""
    return work / f"{curve.key}-{seed}"


def is_finished(directory: Path) -> bool:
    """Whether the run in a directory has come to its end, by completing or by diverging; a damaged one has
    not, and its job says what is wrong with it."""
    try:
        return read.has_ended(directory)
    except DamagedFileError:
        return False


def read_run(directory: Path, seed: int) -> Run | None:
    """A finished run, or None."""
    if not is_finished(directory):
        return None
    found = read.read_run(directory)
    lines = [line for line in found.lines if line.train_loss is not None]
    columns = np.array(
        [(line.round, line.train_loss, line.test_accuracy) for line in lines], dtype=np.float64
    ).reshape(-1, 3)
    return Run(seed, directory, columns[:, 0], columns[:, 1], columns[:, 2], found.diverged_at or 0)


def collect(scale: Scale, curves: Sequence[Curve], seeds: int | None, work: Path | None, out: Path) -> None:
    """Write the tables of these curves.

    Args:
        scale: what the curves are of.
        curves: in the order of the tables.
        seeds: how many runs of a curve count; the scale's own number without.
        work: the folder with the runs; without, nothing is read but the tables.
        out: the folder of the tables. A curve without a finished run in `work` keeps its rows there.
    """
    out.mkdir(parents=True, exist_ok=True)
    runs = {curve.key: _finished(scale, curve, seeds, work) for curve in curves}
    old = read_kept(out, {key for key, found in runs.items() if found})
    known = [curve for curve in curves if runs[curve.key] or curve.key in old.runs]
    goals = {curve.key: target(scale, curve, runs, old) for curve in known}
    rows = {
        c.key: [run_row(c.key, run, goals[c.key]) for run in runs[c.key]] or old.runs[c.key] for c in known
    }
    tables.write_rows(out / tables.RUNS, RunRow, [row for c in known for row in rows[c.key]])
    written = read_kept(out, ()).runs  # to the digits of the table, so that the same rows always say the same
    configurations = [configuration_row(c, written[c.key], goals[c.key]) for c in known]
    tables.write_rows(out / tables.CONFIGURATIONS, ConfigurationRow, configurations)
    watched = [c for c in known if shown_in_4d(scale, c)]
    selecting = [c for c in known if c.settings.ledger]
    shares = {c.key: [(run, kept_share(run.directory)) for run in runs[c.key]] for c in selecting}
    concentrations = {
        key: [row for run, kept in found for row in _concentrations(key, run, kept)]
        for key, found in shares.items()
    }
    every = [row for c in selecting for row in concentrations[c.key] or old.concentrations.get(c.key, [])]
    tables.write_rows(out / tables.CONCENTRATION, ConcentrationRow, every)
    columns = {
        tables.CURVES: {c.key: [curve_columns(c.key, runs[c.key])] for c in known if runs[c.key]},
        tables.DISTANCES: {c.key: distance_columns(c.key, runs[c.key]) for c in watched if runs[c.key]},
        tables.SELECTION: {
            key: selection_columns(key, found[0][1]) for key, found in shares.items() if found
        },
    }
    for name, fresh in columns.items():
        parts = [part for c in known for part in fresh.get(c.key) or old.columns[name].get(c.key, [])]
        tables.write_columns(out / name, _stack(parts))


def _finished(scale: Scale, curve: Curve, seeds: int | None, work: Path | None) -> list[Run]:
    """The finished runs of a curve in the work folder."""
    if work is None:
        return []
    count = seeds or scale.workload(curve.workload).seeds
    found = (read_run(run_directory(work, curve, seed), seed) for seed in range(count))
    return [run for run in found if run is not None]


def target(scale: Scale, curve: Curve, runs: dict[str, list[Run]], old: Kept) -> float:
    """The accuracy to reach: a little below where FedAvg ends on the same problem and case."""
    if not runs[curve.key]:
        return old.targets[curve.key]
    case: Case = next((c for c in CASES if c == curve.settings.partition), "case1")
    baseline = make_curve(scale.workload(curve.workload), case, "fedavg").key
    ends = [run.accuracy[-1] for run in runs.get(baseline, []) if not run.diverged_at and len(run.accuracy)]
    ends += [row.final_accuracy for row in old.runs.get(baseline, []) if not row.diverged_at]
    return float(np.mean(ends)) - TARGET_BELOW if ends else math.nan


def run_row(key: str, run: Run, goal: float) -> RunRow:
    """The numbers of one run; infinite losses for one that diverged."""
    reached = math.inf if math.isnan(goal) else statistics.rounds_to(run.rounds, run.accuracy, goal)
    if run.diverged_at or not len(run.loss):
        lost = math.inf
        return RunRow(key, run.seed, run.diverged_at, lost, lost, lost, math.nan, lost, lost, reached)
    return RunRow(
        key,
        run.seed,
        0,
        float(run.loss[-1]),
        float(measures.tail(run.loss).mean()),
        float(run.loss.min()),
        float(run.accuracy[-1]),
        measures.area(run.rounds, run.loss),
        measures.oscillation(run.loss),
        reached,
    )


def configuration_row(curve: Curve, rows: list[RunRow], goal: float) -> ConfigurationRow:
    """A curve's settings and its numbers over the seeds."""
    own = curve.settings
    reached = statistics.reach([row.rounds_to_target for row in rows])
    finished = [row.final_accuracy for row in rows if not row.diverged_at]
    return ConfigurationRow(
        curve.key,
        curve.workload,
        own.method,
        own.share,
        own.step,
        own.server_lr,
        own.reshuffle,
        own.partition,
        own.clients,
        own.epochs,
        own.batch_size,
        own.lr,
        own.rounds,
        len(rows),
        sum(row.diverged_at > 0 for row in rows),
        goal,
        reached.reached,
        reached.median,
        *_summary([row.final_loss for row in rows]),
        *_summary(finished),
        *_summary([row.area for row in rows]),
        float(np.mean([row.oscillation for row in rows])),
    )


def _summary(values: list[float]) -> tuple[float, float, float]:
    """Mean and 95% interval; infinite where one of the runs is lost."""
    mean, low, high, _, lost = statistics.interval(values)
    return (math.inf, math.nan, math.inf) if lost else (mean, low, high)


def curve_columns(key: str, runs: list[Run]) -> dict[str, Column]:
    """Mean and band a round, up to where the first of the runs diverges."""
    length = min(len(run.rounds) for run in runs)
    loss = statistics.band(np.array([run.loss[:length] for run in runs]))
    accuracy = statistics.band(np.array([run.accuracy[:length] for run in runs]))
    return {
        "key": np.full(length, key),
        "round": runs[0].rounds[:length].astype(np.int32),
        "loss": loss.mean,
        "loss_low": loss.low,
        "loss_high": loss.high,
        "accuracy": accuracy.mean,
        "accuracy_low": accuracy.low,
        "accuracy_high": accuracy.high,
    }


def shown_in_4d(scale: Scale, curve: Curve) -> bool:
    """Whether figure 4d shows the clients of this curve: BHerd's own runs and their random controls."""
    selects = curve.settings.method in ("bherd-fedavg", "random-fedavg")
    return selects and at_defaults(scale.workload(curve.workload), curve.settings)


def distance_columns(key: str, runs: list[Run]) -> list[dict[str, Column]]:
    """The distance of the kept mean from the mean, client by client and round by round."""
    tables_of = [read.read_run(run.directory).clients() for run in runs]
    clients = [table["client"].to_numpy() for table in tables_of]
    values = [table["distance"].to_numpy() for table in tables_of]
    parts = []
    for client in np.unique(clients[0]):
        series = [value[own == client] for value, own in zip(values, clients, strict=True)]
        length = min(len(one) for one in series)
        found = statistics.band(np.array([one[:length] for one in series]))
        parts.append(
            {
                "key": np.full(length, key),
                "client": np.full(length, client, dtype=np.int32),
                "round": np.arange(1, length + 1, dtype=np.int32),
                "distance": found.mean,
                "low": found.low,
                "high": found.high,
            }
        )
    return parts


def kept_share(directory: Path) -> list[Floats]:
    """For each client, which steps were kept: an array of zeros and ones, of shape (rounds, steps)."""
    table = read.read_run(directory).ledger()
    client, step = table["client"].to_numpy(), table["step"].to_numpy()
    kept = table["kept"].to_numpy().astype(np.float64)
    shares = []
    for one in np.unique(client):
        mine = client == one
        shares.append(kept[mine].reshape(-1, int(step[mine].max()) + 1))
    return shares


def concentration(kept: Floats) -> float:
    """How fixed a choice is over the rounds: 0 where every step is kept equally often, 1 where the kept
    steps are the same in every round. Random choice over T rounds gives about 1 / sqrt(T)."""
    often = kept.mean(0)
    share = float(often.mean())
    return float(often.std() / math.sqrt(share * (1 - share))) if 0 < share < 1 else 1.0


def _concentrations(key: str, run: Run, shares: list[Floats]) -> list[ConcentrationRow]:
    return [ConcentrationRow(key, run.seed, client, concentration(k)) for client, k in enumerate(shares)]


def selection_columns(key: str, shares: list[Floats]) -> list[dict[str, Column]]:
    """How often each step was kept in each stretch of rounds, for one run."""
    parts = []
    for client, kept in enumerate(shares):
        edges = np.linspace(0, len(kept), min(ROUND_BINS, len(kept)) + 1).astype(np.int64)
        often = np.add.reduceat(kept, edges[:-1], axis=0) / np.diff(edges)[:, None]
        first = np.repeat(edges[:-1] + 1, kept.shape[1]).astype(np.int32)
        parts.append(
            {
                "key": np.full(often.size, key),
                "client": np.full(often.size, client, dtype=np.int32),
                "round": first,
                "step": np.tile(np.arange(kept.shape[1], dtype=np.int32), len(often)),
                "share": often.reshape(-1),
            }
        )
    return parts


def _stack(parts: list[dict[str, Column]]) -> dict[str, Column]:
    """Pieces of a table, one below the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}
