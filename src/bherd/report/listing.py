"""The list of runs below a folder."""

from pathlib import Path
from typing import NamedTuple

from bherd.errors import InputError
from bherd.labels import method_label
from bherd.names import is_own_task
from bherd.report.find import runs_below
from bherd.runs.read import read_run


class ListedRun(NamedTuple):
    """One run in a list; a run that cannot be read has a problem and nothing else."""

    run: str
    method: str = ""
    task: str = ""
    seed: int = 0
    rounds_done: int = 0
    rounds: int = 0
    accuracy: float | None = None
    seconds: float = 0.0
    status: str = ""
    problem: str | None = None
    own_task: bool = False
    """Whether `accuracy` is the metric of a task from Python, and no share."""


def list_runs(directory: Path) -> list[ListedRun]:
    """Every run at or below a folder, sorted by name. One damaged run does not hide the others."""
    return [_line(path) for path in runs_below(directory)]


def _line(path: Path) -> ListedRun:
    try:
        run = read_run(path)
    except InputError as error:
        return ListedRun(str(path), problem=str(error))
    task = run.config.task
    return ListedRun(
        str(path),
        method_label(run.config),
        f"{task.dataset} {task.model} {task.partition} N={task.clients}",
        run.config.run.seed,
        run.rounds_done,
        run.config.train.rounds,
        run.final_accuracy,
        run.seconds,
        run.status if run.diverged_at is None else f"diverged in round {run.diverged_at}",
        own_task=is_own_task(task.dataset),
    )
