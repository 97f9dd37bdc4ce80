"""One of many runs: complete in itself, resumable, independent of the others."""

from pathlib import Path
from typing import Any, NamedTuple

from bherd.config import Config, difference
from bherd.errors import InputError


class Job(NamedTuple):
    """A run to be had: what, and in which directory."""

    config: Config
    directory: Path


def run_job(job: Job) -> dict[str, Any]:
    """Run a job, continue it where it stopped, or just read back the summary of a complete one."""
    from bherd.runs.directory import CONFIG, read_config
    from bherd.runs.execute import resume, run
    from bherd.session import resolve

    if not (job.directory / CONFIG).exists():
        return run(job.config.replace(workers=1), job.directory)
    other = difference(read_config(job.directory), resolve(job.config))
    if other is not None:
        raise InputError(
            f"{job.directory} holds a run with other settings ({other}); choose another --out or remove it"
        )
    return resume(job.directory, workers=1)
