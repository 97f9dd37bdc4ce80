"""The files of a run directory, by name, and reading them back."""

import hashlib
import io
import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from bherd.config import Config, from_dict, to_dict
from bherd.errors import DamagedFileError, InputError
from bherd.runs.files import Mark, check_beginning, check_whole, mark_of, write_atomically
from bherd.toml import parse_toml

if TYPE_CHECKING:
    import pyarrow as pa

    from bherd.method import Indices

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
FEDERATION = "federation"
"""A folder: what only a networked federation has (its name, keys, logs, rejected replies)."""

FINAL_OF = {CLIENTS_LOG: CLIENTS, LEDGER_LOG: LEDGER, SNAPSHOTS_LOG: SNAPSHOTS}
"""What becomes of each Arrow log when the run has ended."""
EVERY_FILE = (CONFIG, PARTITION, METRICS, *FINAL_OF, CHECKPOINT, *FINAL_OF.values(), MODEL, SUMMARY)
"""All names, in the order in which they first appear."""

STATUSES = ("complete", "diverged", "interrupted")
_RECORDED_VERSIONS = ("bherd", "torch", "numpy", "pyarrow", "safetensors")
_RECORDED_IF_INSTALLED = ("numba",)
_DECIDE_ROUNDING = ("bherd", "python", "torch", "numpy", "numba")


def environment() -> dict[str, str]:
    """Versions and platform, as they are written beside the configuration."""
    versions = {name: metadata.version(name) for name in _RECORDED_VERSIONS}
    for name in _RECORDED_IF_INSTALLED:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {**versions, "python": platform.python_version(), "platform": platform.platform()}


def changed_versions(before: dict[str, str], now: dict[str, str]) -> str | None:
    """What differs among the versions that can change a result's last digits, in words; or None."""
    changes = [
        f"{name} {before.get(name, 'not installed')} -> {now.get(name, 'not installed')}"
        for name in _DECIDE_ROUNDING
        if before.get(name) != now.get(name)
    ]
    if not changes:
        return None
    return (
        f"the run began with other versions ({', '.join(changes)}): what follows may differ in the last "
        "digits from a run that was never stopped"
    )


def write_config(directory: Path, config: Config, environment: dict[str, str]) -> None:
    """config.toml: every setting, resolved, and the environment."""
    tree: dict[str, Any] = {
        section: {key: value for key, value in values.items() if value is not None}
        for section, values in to_dict(config).items()
    }
    tree["environment"] = environment
    write_atomically(directory / CONFIG, tomli_w.dumps(tree).encode())


def read_config(directory: Path) -> Config:
    """The configuration of a run directory."""
    settings = {name: table for name, table in _read_tables(directory).items() if name != "environment"}
    return from_dict(settings, source=str(directory / CONFIG))


def read_environment(directory: Path) -> dict[str, str]:
    """The versions and the platform that a run began with."""
    recorded = _read_tables(directory).get("environment")
    if not isinstance(recorded, dict) or not all(isinstance(value, str) for value in recorded.values()):
        raise DamagedFileError(f"{directory / CONFIG} is damaged: its table [environment] is not whole")
    return recorded


def _read_tables(directory: Path) -> dict[str, Any]:
    path = directory / CONFIG
    if not path.is_file():
        raise InputError(f"{directory} is not a run directory: it has no {CONFIG}")
    return parse_toml(path)


def write_partition(directory: Path, order: "list[Indices]") -> Mark:
    """partition.npz: `rows`, the dataset rows of all clients one after the other, and `sizes`."""
    content = io.BytesIO()
    sizes = np.array([len(rows) for rows in order], np.int64)
    np.savez_compressed(content, rows=np.concatenate(order), sizes=sizes)
    write_atomically(directory / PARTITION, content.getbuffer())
    return mark_of(content.getbuffer())


def read_partition(directory: Path) -> "list[Indices]":
    """The dataset rows of each client, in its order."""
    path = directory / PARTITION
    try:
        with np.load(path, allow_pickle=False) as stored:
            rows, sizes = stored["rows"], stored["sizes"]
            if sizes.sum() != len(rows):
                raise ValueError(f"{len(rows)} rows for clients that hold {sizes.sum()}")
            return np.split(rows, np.cumsum(sizes)[:-1])
    except Exception as error:  # numpy and zipfile raise many kinds on damaged input
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error


def check_partition(directory: Path, order: "list[Indices]") -> None:
    """Raise `DamagedFileError` unless partition.npz holds exactly these orders."""
    stored = read_partition(directory)
    if len(stored) != len(order) or not all(map(np.array_equal, stored, order)):
        raise DamagedFileError(
            f"{directory / PARTITION} does not hold the partition that this configuration and data give; "
            "the file was altered or the dataset has changed"
        )


def read_summary(directory: Path) -> dict[str, Any] | None:
    """summary.json, or None for a run that has not come to an end or a stop."""
    path = directory / SUMMARY
    if not path.is_file():
        return None
    try:
        summary = json.loads(path.read_bytes())
    except (ValueError, OSError) as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error
    if not isinstance(summary, dict) or summary.get("status") not in STATUSES:
        raise DamagedFileError(f"{path} is damaged: its status is none of {', '.join(STATUSES)}")
    return summary


def check_final_files(directory: Path, summary: dict[str, Any]) -> None:
    """Raise `DamagedFileError` unless every file of a finished run is what its summary says."""
    for name, mark in _vouched(directory, summary).items():
        check_whole(directory / name, mark)


def _vouched(directory: Path, summary: dict[str, Any]) -> dict[str, Mark]:
    try:
        return {name: Mark(**mark) for name, mark in summary["files"].items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise DamagedFileError(f"{directory / SUMMARY} is damaged: its list of files is not whole") from error


def read_metrics(directory: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl; a last line that a kill cut short is left out."""
    path = directory / METRICS
    if not path.is_file():
        return []
    try:
        complete = path.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in complete.splitlines()]
    except (ValueError, OSError) as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error


def read_clients(directory: Path) -> "pa.Table":
    """The rows of clients.parquet, a row a client and round, of a run that has ended or that goes on."""
    return read_table(directory, CLIENTS_LOG)


def read_ledger(directory: Path) -> "pa.Table":
    """The rows of ledger.parquet, a row a client, round and step, of a run that has ended or goes on."""
    return read_table(directory, LEDGER_LOG)


def read_table(directory: Path, log: str) -> "pa.Table":
    """The table behind a log: from Parquet where the run has ended, else as much as there is so far.

    What a checkpoint or the summary vouches for is verified.
    """
    from bherd.runs import tables

    if not (directory / CONFIG).is_file():
        raise InputError(f"{directory} is not a run directory: it has no {CONFIG}")
    final = directory / FINAL_OF[log]
    if not final.is_file():
        try:
            return _read_log(directory, log)
        except FileNotFoundError:
            if not final.is_file():  # it was not the end of the run that took the log away
                return tables.empty(log)
    summary = read_summary(directory)
    if summary is not None and "files" in summary:
        check_whole(final, _vouched(directory, summary)[final.name])
    return tables.read_parquet(final)


def _read_log(directory: Path, log: str) -> "pa.Table":
    from bherd.runs import checkpoint, tables

    if (directory / CHECKPOINT).is_file() and (directory / log).is_file():
        check_beginning(directory / log, checkpoint.read_marks(directory / CHECKPOINT)[log])
    return tables.decode_log(directory / log, ended=False)


def is_run(directory: Path) -> bool:
    """Whether a folder is a run directory: its config.toml tells of an environment, as ours all do."""
    try:
        return b"\n[environment]\n" in (directory / CONFIG).read_bytes()
    except OSError:
        return False


def find_runs(root: Path) -> list[Path]:
    """Every run directory at or below a folder, sorted; hidden folders and links to folders are not entered.

    A link to a run directory counts as one.
    """
    if is_run(root):
        return [root]
    found: list[Path] = []
    for parent, folders, _ in os.walk(root):
        inside = [Path(parent, name) for name in folders if not name.startswith(".")]
        runs = {path.name for path in inside if is_run(path)}
        found.extend(Path(parent, name) for name in runs)
        folders[:] = [path.name for path in inside if path.name not in runs]
    return sorted(found)


def fingerprint(*arrays: Any) -> str:
    """A short hash of a dataset: shapes, the bits of every row summed up, and every 97th row in full."""
    digest = hashlib.sha256()
    for given in arrays:
        array = np.ascontiguousarray(given)
        digest.update(f"{array.dtype} {array.shape}".encode())
        rows = array.reshape(len(array), -1)
        unit = np.uint32 if rows.shape[1] * rows.itemsize % 4 == 0 else np.uint8
        digest.update(rows.view(unit).sum(1, dtype=np.uint64).tobytes())
        digest.update(array[::97].tobytes())
    return digest.hexdigest()[:16]
