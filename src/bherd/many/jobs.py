"""One of many runs: complete in itself, resumable, independent of the others."""

from pathlib import Path
from typing import Any, NamedTuple

from bherd.config import Config


class Job(NamedTuple):
    """One planned run: its configuration and its directory."""

    config: Config
    directory: Path


def run_job(job: Job) -> dict[str, Any]:
    """Run a job on one core, continue it where it stopped, or give back the summary of an ended one."""
    from bherd.runs.life import run_or_resume

    return run_or_resume(job.config, job.directory, workers=1)
