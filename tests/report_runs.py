"""Run directories for the tests of the report: real ones, and large ones made up without training."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bherd
from bherd.labels import folder_name
from bherd.runs import directory as names
from bherd.runs.files import mark_of
from bherd.runs.life import run
from bherd.runs.tables import CLIENTS_SCHEMA, LEDGER_SCHEMA, SNAPSHOTS_SCHEMA

BASE = bherd.Config().replace(
    rounds=12, lr=1e-3, workers=1, snapshot_every=4, batch_size=50, order="reshuffled"
)
"""In a new sample order every epoch, as in a comparison."""


def comparison(folder: Path, seeds: int = 2, base: bherd.Config = BASE) -> list[Path]:
    """Real runs of three methods, some seeds each, as `bherd compare` leaves them."""
    made = []
    for changes in ({"name": "fedavg"}, {"name": "bherd-fedavg"}, {"name": "random-fedavg", "alpha": 0.3}):
        for seed in range(seeds):
            config = base.replace(**changes, seed=seed)
            path = folder / folder_name(config) / f"seed-{seed}"
            run(config, path)
            made.append(path)
    return made


def made_up_run(
    path: Path,
    config: bherd.Config,
    *,
    rounds: int,
    steps: int,
    snapshots: int = 0,
    diverged_at: int | None = None,
) -> Path:
    """A finished run directory full of random numbers, of any size, without any training."""
    random = np.random.default_rng(config.run.seed)
    path.mkdir(parents=True)
    names.write_config(path, config, names.environment(), {})
    clients, kept = config.task.clients, max(1, steps // 2)
    size = steps * config.train.batch_size
    names.write_partition(path, list(np.arange(clients * size).reshape(clients, size) % 5000))
    lines = [_line(number, clients, steps, kept, random) for number in range(1, rounds + 1)]
    if diverged_at is not None:
        lines[-1].update(train_loss=None, test_loss=None, test_accuracy=None, diverged=True)
    (path / names.METRICS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    order = random.permuted(np.tile(np.arange(steps), (rounds * clients, 1)), axis=1).ravel()
    number = np.repeat(np.arange(1, rounds + 1), clients)
    client = np.tile(np.arange(clients), rounds)
    ledger = [np.repeat(number, steps), np.repeat(client, steps), np.tile(np.arange(steps), rounds * clients)]
    ranks = pa.array(order, mask=order >= kept)
    pq.write_table(
        pa.table([*ledger, order < kept, ranks], names=LEDGER_SCHEMA.names).cast(LEDGER_SCHEMA),
        path / names.LEDGER,
    )
    rest = [random.random(len(number)), np.full(len(number), steps), np.full(len(number), kept)]
    floats = [random.random(len(number)) for _ in range(4)]
    table = pa.table([number, client, *rest, *floats], names=CLIENTS_SCHEMA.names).cast(CLIENTS_SCHEMA)
    pq.write_table(table, path / names.CLIENTS)
    if snapshots:
        rows = [_snapshot(n, c, steps, kept, random) for n in range(1, snapshots + 1) for c in range(clients)]
        pq.write_table(pa.Table.from_pylist(rows, schema=SNAPSHOTS_SCHEMA), path / names.SNAPSHOTS)
    status = "complete" if diverged_at is None else "diverged"
    (path / names.MODEL).write_bytes(b"")
    summary = {"status": status, "seconds": 1.0, "diverged_at": diverged_at, "peak_memory_bytes": 2**28}
    (path / names.SUMMARY).write_text(json.dumps(summary))
    record_files(path)
    return path


def record_files(path: Path) -> None:
    """Let the summary of a made-up run record its files as they are now."""
    made = [name for name in (*names.FINAL, names.SNAPSHOTS) if (path / name).exists()]
    files = {name: mark_of((path / name).read_bytes())._asdict() for name in made}
    summary = json.loads((path / names.SUMMARY).read_text())
    (path / names.SUMMARY).write_text(json.dumps({**summary, "files": files}))


def _line(number: int, clients: int, steps: int, kept: int, random: np.random.Generator) -> dict[str, Any]:
    accuracy = 0.9 - 0.5 / (1 + number / 20) + 0.005 * random.standard_normal()
    return {
        "round": number,
        "train_loss": 1 / number + 0.2,
        "test_loss": 1 / number + 0.25,
        "test_accuracy": float(accuracy),
        "clients": clients,
        "kept": kept * clients,
        "steps": steps * clients,
        "uplink_bytes": 31400,
        "seconds": {"local": 0.02, "select": 0.001, "aggregate": 0.0001, "evaluate": 0.003},
    }


def _snapshot(number: int, client: int, steps: int, kept: int, random: np.random.Generator) -> dict[str, Any]:
    order = random.permutation(steps)
    x, y = random.standard_normal((2, steps))
    return {
        "round": number,
        "client": client,
        "x": x,
        "y": y,
        "mean_x": 0.1,
        "mean_y": 0.2,
        "mean_norm": 1.0,
        "explained_x": 0.6,
        "explained_y": 0.2,
        "order": order,
        "distance": np.linspace(1, 0, steps),
        "kept": order[:kept],
    }
