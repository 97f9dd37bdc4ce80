"""One of many runs: complete in itself, resumable, independent of the others."""

from pathlib import Path
from typing import Any, NamedTuple

from bherd.config import Config
from bherd.errors import BherdError


class Job(NamedTuple):
    """One planned run: its configuration and its directory."""

    config: Config
    directory: Path


class Ended(NamedTuple):
    """How a job came out."""

    job: Job
    error: str | None = None
    """What went wrong, if something did."""


def run_job(job: Job) -> dict[str, Any]:
    """Run a job on one core, continue it where it stopped, or give back the summary of an ended one."""
    from bherd.runs.life import run_or_resume

    return run_or_resume(job.config, job.directory, workers=1)


def try_job(job: Job) -> Ended:
    """As `run_job`; what goes wrong with the run is told and not raised, so that other jobs go on."""
    try:
        run_job(job)
    except (BherdError, OSError, MemoryError) as error:
        return Ended(job, f"{type(error).__name__}: {error}")
    return Ended(job)
