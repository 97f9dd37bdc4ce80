"""The library in four calls: `run`, `resume` and `compare` write directories, `simulate` stays in memory."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bherd.config import Config
from bherd.errors import InputError
from bherd.many.compare import Row, collect, parse_variant, plan
from bherd.many.jobs import run_job
from bherd.many.processes import in_processes
from bherd.method import Method
from bherd.runs import life
from bherd.session import prepare
from bherd.tasks.task import Task

__all__ = ["compare", "resume", "run"]


def run(
    config: Config | None = None,
    *,
    out: str | Path,
    method: Method | str | None = None,
    task: Task | None = None,
    on_round: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Run a federation into a new directory, which `resume` continues and `bherd report` shows.

    Args:
        config: every setting; the defaults of `Config` where it is left out.
        out: a folder that is empty or does not exist yet.
        method: a name such as 'fedavg' or 'fedavg,server=adam', or a `Method` of your own, whose parts can be
            imported, in place of the one that the configuration names.
        task: data and model of your own, in place of those that the configuration names.
        on_round: given the metrics line of each round.

    Returns:
        The summary, as summary.json holds it.

    Raises:
        InputError: something does not fit; nothing has been written then.
        KeyboardInterrupt: it was stopped; `resume` continues it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run(Config().replace(rounds=2), method="fedavg", out=Path(folder) / "run")["status"]
    'complete'
    """
    session = prepare(config or Config(), task=task, method=method)
    return life.run(session, Path(out), on_round)


def resume(
    directory: str | Path,
    *,
    task: Task | None = None,
    on_round: Callable[[dict[str, Any]], None] | None = None,
    accept_changed_code: bool = False,
) -> dict[str, Any]:
    """Continue an unfinished run; a finished one is checked and returned as it is.

    Args:
        directory: the run directory.
        task: needed again for a run on a task of your own.
        on_round: given the metrics line of each further round.
        accept_changed_code: go on although a part or a model of your own has changed since the run began.

    Returns:
        The summary, as summary.json holds it.

    Raises:
        InputError: it is no run directory, or its configuration, data or code are not those it began with.
        DamagedFileError: a file is missing, or not what was recorded.
    """
    return life.resume(Path(directory), on_round, task=task, accept_changed_code=accept_changed_code)


def compare(
    methods: Sequence[str],
    config: Config | None = None,
    *,
    out: str | Path,
    seeds: Sequence[int] = (0, 1, 2),
    processes: int = 0,
) -> list[Row]:
    """Run methods on one task with paired seeds, and read the results back; unfinished runs are continued.

    All methods visit their samples in the configuration's order; leave it to `reshuffled` unless the order is
    what you study.

    Args:
        methods: names with their refinements, 'fedavg,server=adam,server.lr=0.1'.
        config: the settings that all share.
        out: the folder; each run is in METHOD/seed-S below it.
        seeds: of each method.
        processes: runs at the same time; 0: as many as there are cores.

    Returns:
        A row per method, in the order given.

    Raises:
        InputError: a method is not known, or given twice.
    """
    if not seeds:
        raise InputError("seeds = []: must be at least one. Try range(3).")
    base = config or Config().replace(method="fedavg")
    jobs = plan([parse_variant(text, base) for text in methods], seeds, Path(out))
    for _ in in_processes(run_job, jobs, processes or os.cpu_count() or 1):
        pass
    return collect(jobs)
