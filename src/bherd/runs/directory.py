"""The files of a run directory, by name, and reading them back."""

import hashlib
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from bherd.config import Config, from_dict, to_dict
from bherd.errors import DamagedFileError, InputError
from bherd.method import Indices
from bherd.runs.files import write_atomically
from bherd.toml import parse_toml

CONFIG = "config.toml"
METRICS = "metrics.jsonl"
CLIENTS = "clients.parquet"
LEDGER = "ledger.parquet"
SNAPSHOTS = "snapshots.parquet"
CLIENTS_LOG = "clients.arrows"
LEDGER_LOG = "ledger.arrows"
SNAPSHOTS_LOG = "snapshots.arrows"
PARTITION = "partition.npz"
MODEL = "model.safetensors"
CHECKPOINT = "checkpoint.safetensors"
SUMMARY = "summary.json"

_RECORDED_VERSIONS = ("bherd", "torch", "numpy", "pyarrow", "safetensors")


def environment() -> dict[str, str]:
    """Versions and platform, as they are written beside the configuration."""
    versions = {name: metadata.version(name) for name in _RECORDED_VERSIONS}
    return {**versions, "python": platform.python_version(), "platform": platform.platform()}


def write_config(directory: Path, config: Config) -> None:
    """config.toml: every setting, resolved, and the environment."""
    tree: dict[str, Any] = {
        section: {key: value for key, value in values.items() if value is not None}
        for section, values in to_dict(config).items()
    }
    tree["environment"] = environment()
    write_atomically(directory / CONFIG, tomli_w.dumps(tree).encode())


def read_config(directory: Path) -> Config:
    """The configuration of a run directory."""
    path = directory / CONFIG
    if not path.is_file():
        raise InputError(f"{directory} is not a run directory: it has no {CONFIG}")
    return from_dict(
        {name: table for name, table in parse_toml(path).items() if name != "environment"},
        source=str(path),
    )


def write_partition(directory: Path, order: list[Indices]) -> None:
    """partition.npz: `client_0`, `client_1`, ... the dataset rows in each client's order."""
    path = directory / PARTITION
    temporary = path.with_name(f".{path.name}.tmp.npz")
    arrays = {f"client_{client}": rows for client, rows in enumerate(order)}
    np.savez_compressed(temporary, allow_pickle=False, **arrays)
    temporary.replace(path)


def check_partition(directory: Path, order: list[Indices]) -> None:
    """Raise `DamagedFileError` unless partition.npz holds exactly these orders."""
    path = directory / PARTITION
    try:
        with np.load(path, allow_pickle=False) as stored:
            same = len(stored.files) == len(order) and all(
                np.array_equal(stored[f"client_{client}"], rows) for client, rows in enumerate(order)
            )
    except Exception as error:  # numpy and zipfile raise many kinds on damaged input
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error
    if not same:
        raise DamagedFileError(
            f"{path} does not hold the partition that this configuration and data give; "
            "the file was altered or the dataset has changed"
        )


def read_summary(directory: Path) -> dict[str, Any] | None:
    """summary.json, or None for a run that has not come to an end or a stop."""
    path = directory / SUMMARY
    if not path.is_file():
        return None
    try:
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error
    return summary


def read_metrics(directory: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl; a last line that a kill cut short is left out."""
    path = directory / METRICS
    if not path.is_file():
        return []
    complete = path.read_bytes().rpartition(b"\n")[0]
    try:
        return [json.loads(line) for line in complete.splitlines()]
    except ValueError as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error


def fingerprint(*arrays: Any) -> str:
    """A short hash of a dataset: shapes, and every 97th row of each array."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str(tuple(array.shape)).encode())
        digest.update(np.ascontiguousarray(np.asarray(array[::97])).tobytes())
    return digest.hexdigest()[:16]
