"""Many runs in parallel processes, each one complete, resumable and independent of the others."""

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from bherd.config import Config, first_difference
from bherd.errors import InputError


class Job(NamedTuple):
    """A run to be had: what, and in which directory."""

    config: Config
    directory: Path


def run_jobs(jobs: Sequence[Job], processes: int) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Do every job and yield its summary as it is done, in any order.

    A job whose directory is complete costs nothing, one that was stopped goes on where it stopped.
    Ctrl-C stops all of them, each with a checkpoint.
    """
    if processes <= 1 or len(jobs) <= 1:
        for job in jobs:
            yield job, run_job(job)
        return
    with ProcessPoolExecutor(
        min(processes, len(jobs)), mp_context=get_context("spawn"), initializer=_one_thread
    ) as pool:
        futures = {pool.submit(run_job, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def run_job(job: Job) -> dict[str, Any]:
    """Run, continue, or just read back one job."""
    from bherd.runs.directory import CONFIG, read_config
    from bherd.runs.execute import resume, run
    from bherd.session import resolve

    if not (job.directory / CONFIG).exists():
        return run(job.config.replace(workers=1), job.directory)
    difference = first_difference(read_config(job.directory), resolve(job.config))
    if difference is not None:
        raise InputError(
            f"{job.directory} holds a run with other settings ({difference}); choose another --out "
            "or remove it"
        )
    return resume(job.directory, workers=1)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
