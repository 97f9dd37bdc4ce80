"""Runs many configurations: a pool of processes, each doing whole runs; resumable at any moment.

A run is done, unfinished or absent, and its directory says which. So nothing else needs to be
remembered: started again after any kind of death, the runner skips the first, continues the second
and starts the third.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bherd.config import Config
from bherd.errors import BherdError, DamagedFileError
from bherd.many.processes import in_processes
from bherd.runs import directory as names
from bherd.runs.verify import has_ended


@dataclass(frozen=True)
class Job:
    """One run and where it goes."""

    config: Config
    directory: Path
    seconds: float
    """The expected time, for the order of magnitude of what is left."""


class Ended(NamedTuple):
    """How a run came out."""

    job: Job
    seconds: float
    error: str | None = None


OnEnd = Callable[[Ended], None]


def is_finished(directory: Path) -> bool:
    """Whether the run in a directory has come to its end, by completing or by diverging; a damaged one has
    not, and `perform` says what is wrong with it."""
    try:
        return has_ended(directory)
    except DamagedFileError:
        return False


def perform(job: Job) -> Ended:
    """Start or continue one run. What goes wrong inside is reported, not raised."""
    from bherd.runs import life

    try:
        if (job.directory / names.CHECKPOINT).exists():
            summary = life.resume(job.directory, workers=1)
        else:
            # What a kill leaves before the first checkpoint is not worth keeping.
            shutil.rmtree(job.directory, ignore_errors=True)
            summary = life.run(job.config, job.directory)
    except (BherdError, OSError, MemoryError) as error:
        return Ended(job, 0.0, f"{type(error).__name__}: {error}")
    return Ended(job, float(summary["seconds"]))


def run_jobs(jobs: list[Job], processes: int, on_end: OnEnd) -> None:
    """Perform the jobs in order on so many processes, and tell of each as it ends."""
    for ended in in_processes(perform, jobs, processes):
        on_end(ended)
