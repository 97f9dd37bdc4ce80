"""What must hold before a run is taken up: the data and partition it began with, its last checkpoint."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from bherd.config import difference, to_dict
from bherd.errors import DamagedFileError, InputError
from bherd.indices import Indices
from bherd.own_task import task_fingerprint, with_fingerprint
from bherd.runs import directory as run_directory
from bherd.runs.checkpoint import Checkpoint, load_checkpoint
from bherd.runs.files import Mark, mark_of
from bherd.runs.header import Origin
from bherd.runs.read import Run
from bherd.runs.recorder import LOGS
from bherd.session import Session

OnWarning = Callable[[str], None]


def check_data(
    found: Run, session: Session, checkpoint: Checkpoint | None, on_warning: OnWarning
) -> tuple[Mark | None, Origin]:
    """Refuse other data than the run began with; the partition's mark (None: it has none), and the origin."""
    directory, config = found.directory, found.config
    origin = Origin(to_dict(config), found.environment, task_fingerprint(session.task), found.sources)
    same = difference(config, with_fingerprint(session.config, session.task)) is None
    if not same or (checkpoint is not None and checkpoint.header.origin.data != origin.data):
        raise InputError(f"{directory} cannot be resumed: the dataset is not the one that it began with")
    dealt = found.partition()
    if dealt:
        _check_partition(directory, dealt, session.task.order)
    changes = run_directory.changed_versions(found.environment, run_directory.environment())
    if changes is not None:
        on_warning(f"{directory}: {changes}")
    return mark_of((directory / run_directory.PARTITION).read_bytes()) if dealt else None, origin


def last_checkpoint(directory: Path) -> Checkpoint | None:
    """The checkpoint; None for a run that was killed before it had one."""
    path = directory / run_directory.CHECKPOINT
    if path.exists():
        return load_checkpoint(path)
    for log in (directory / name for name in LOGS):
        if log.exists() and log.stat().st_size > 0:
            raise DamagedFileError(
                f"{path} is missing, although {log.name} holds rounds; nothing was changed"
            )
    return None


def _check_partition(directory: Path, dealt: list[Indices], order: list[Indices]) -> None:
    if len(dealt) != len(order) or not all(map(np.array_equal, dealt, order)):
        raise DamagedFileError(
            f"{directory / run_directory.PARTITION} does not hold the partition that this configuration and "
            "data give; the file was altered or the dataset has changed"
        )
