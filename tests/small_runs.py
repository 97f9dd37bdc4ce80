"""Run directories small enough to be made, broken and compared in milliseconds."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bherd.config import Config
from bherd.runs import directory as names
from bherd.runs.life import run
from bherd.runs.read import read_run
from bherd.runs.verify import read_summary

FINAL = {
    names.CONFIG,
    names.METRICS,
    names.CLIENTS,
    names.LEDGER,
    names.PARTITION,
    names.MODEL,
    names.SUMMARY,
}


def small_config(folder: Path, method: str = "bherd-scaffold") -> Config:
    """Three rounds of four clients on a dataset of 160 samples, with a checkpoint after each."""
    path = folder / "data.npz"
    if not path.exists():
        draw = np.random.default_rng(5)
        labels = np.arange(160) % 4
        x = (draw.random((160, 10)) + labels[:, None] * 0.2).astype(np.float32)
        np.savez(path, x_train=x[:120], y_train=labels[:120], x_test=x[120:], y_test=labels[120:])
    config = Config().replace(
        dataset=str(path),
        model="svm",
        clients=4,
        partition="case1",
        batch_size=8,
        lr=0.05,
        rounds=3,
        workers=1,
        checkpoint_every=1,
    )
    return config.replace(name=method)


def read_lines(directory: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl, as the reader gives them."""
    return [line.plain() for line in read_run(directory).lines]


def contents(directory: Path) -> dict[str, Any]:
    """Everything that a resumed run has to have in common with one that was never interrupted."""
    lines = [
        {key: value for key, value in line.items() if key != "seconds"} for line in read_lines(directory)
    ]
    summary = read_summary(directory)
    assert summary is not None
    clients = read_run(directory).clients().drop_columns(["seconds", "select_seconds"])
    snapshots = read_run(directory).snapshots()
    return {
        "files": sorted(path.name for path in directory.iterdir()),
        "status": summary["status"],
        "model": (directory / names.MODEL).read_bytes().hex(),
        "metrics": lines,
        "clients": clients.to_pylist(),
        "ledger": read_run(directory).ledger().to_pylist(),
        "snapshots": snapshots.to_pylist(),
        "partition": {k: v.tolist() for k, v in np.load(directory / names.PARTITION).items()},
    }


def tree(directory: Path) -> dict[str, str]:
    """Every file at or below a folder, hidden ones too, with the hash of its contents."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def stop_after(number: int) -> Callable[[dict[str, Any]], None]:
    """A callback that stops a run as Ctrl-C does, after one of its rounds."""

    def on_round(line: dict[str, Any]) -> None:
        if line["round"] == number:
            raise KeyboardInterrupt

    return on_round


def stopped_run(folder: Path, config: Config | None = None, after: int = 2) -> Path:
    """The directory of a run that was stopped after one of its rounds."""
    directory = folder / "stopped"
    try:
        run(config or small_config(folder), directory, stop_after(after))
    except KeyboardInterrupt:
        return directory
    raise AssertionError("the run was not stopped")
