"""The files of a run directory by name, which folders are such directories, and what is written first."""

import io
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from bherd.config import Config, to_dict
from bherd.runs.files import Mark, mark_of, write_atomically

if TYPE_CHECKING:
    from bherd.indices import Indices

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

FINAL = (CONFIG, PARTITION, METRICS, CLIENTS, LEDGER, MODEL)
"""What the summary of a run that has ended records, beside snapshots.parquet where there are any."""
ENDED = ("complete", "diverged")
STATUSES = (*ENDED, "interrupted")
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


def write_config(
    directory: Path, config: Config, environment: dict[str, str], sources: dict[str, str]
) -> None:
    """config.toml: every setting, resolved; the SHA-256 of the user's own code; and the environment.

    Args:
        directory: the run directory.
        config: the settings.
        environment: versions and platform.
        sources: SHA-256 by `package.module:factory`; none: the table is left out.
    """
    tree: dict[str, Any] = {
        section: {key: value for key, value in values.items() if value is not None}
        for section, values in to_dict(config).items()
    }
    if sources:
        tree["sources"] = sources
    tree["environment"] = environment
    write_atomically(directory / CONFIG, tomli_w.dumps(tree).encode())


def write_partition(directory: Path, order: "list[Indices]") -> Mark:
    """partition.npz: `rows`, the dataset rows of all clients one after the other, and `sizes`."""
    content = io.BytesIO()
    sizes = np.array([len(rows) for rows in order], np.int64)
    np.savez_compressed(content, rows=np.concatenate(order), sizes=sizes)
    write_atomically(directory / PARTITION, content.getbuffer())
    return mark_of(content.getbuffer())


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
