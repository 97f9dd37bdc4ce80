"""Runs many configurations: a pool of processes, each doing whole runs; resumable at any moment.

A run is done, unfinished or absent, and its directory says which. So nothing else needs to be
remembered: started again after any kind of death, the runner skips the first, continues the second
and starts the third.
"""

import multiprocessing
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection
from pathlib import Path
from typing import NamedTuple

from bherd.config import Config
from bherd.errors import BherdError
from bherd.runs import directory as names

FINISHED = ("complete", "diverged")


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
    """Whether the run in a directory has come to its end, by completing or by diverging."""
    summary = names.read_summary(directory)
    return summary is not None and summary["status"] in FINISHED


def perform(job: Job) -> Ended:
    """Start or continue one run. What goes wrong inside is reported, not raised."""
    from bherd.runs import execute

    try:
        if (job.directory / names.CHECKPOINT).exists():
            summary = execute.resume(job.directory, workers=1)
        else:
            # What a kill leaves before the first checkpoint is not worth keeping.
            shutil.rmtree(job.directory, ignore_errors=True)
            summary = execute.run(job.config, job.directory)
    except (BherdError, OSError, MemoryError) as error:
        return Ended(job, 0.0, f"{type(error).__name__}: {error}")
    return Ended(job, float(summary["seconds"]))


def run_jobs(jobs: list[Job], processes: int, on_end: OnEnd) -> None:
    """Perform the jobs in order on so many processes, and tell of each as it ends; on one, it is this one."""
    if processes == 1:
        for job in jobs:
            on_end(perform(job))
        return
    if not jobs:
        return
    with _one_thread_each():
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(processes, len(jobs)), mp_context=context, initializer=_begin_worker)
        try:
            pending = {pool.submit(perform, job) for job in jobs}
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    on_end(future.result())
        except BrokenProcessPool as error:
            raise BherdError(
                "a process that did the runs was killed from outside, perhaps for want of memory; "
                "what is done is kept: start the same command again, with fewer --jobs if memory is short"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)


def _begin_worker() -> None:
    """Import what every run needs, and do not outlive the process that gives the work."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let the libraries in the worker processes use one core each: there is a process for each core."""
    variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(dict.fromkeys(variables, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
