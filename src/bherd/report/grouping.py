"""Runs sorted into tasks (what is learnt) and series (how); seeds are repetitions of a series."""

from collections.abc import Sequence
from dataclasses import dataclass

from bherd.config import Config, all_settings, find_setting
from bherd.labels import method_label, number
from bherd.names import is_own_task
from bherd.runs.read import Run

_SHOWN_ELSEWHERE = {"seed", "dtype", "eval_every", "eval_train", "snapshot_every", "ledger"}
"""In a series' own words, in its runs, in the task's label; or what is recorded and no more."""
_SETTINGS = [
    one.name
    for one in all_settings()
    if one.decides and one.table in ("train", "run") and one.name not in _SHOWN_ELSEWHERE
]


@dataclass(frozen=True)
class Series:
    """One way of training on one task: the runs differ in their seed alone."""

    label: str
    runs: list[int]
    """Positions in the list of all runs, by seed."""


@dataclass(frozen=True)
class TaskGroup:
    """All series that learn the same from the same data."""

    label: str
    own: bool
    """Whether it is a task from Python, whose metric is its own."""
    centralized: list[str]
    """Labels of the series that see all data at once: a bound, not a competitor."""
    series: list[Series]


@dataclass(frozen=True)
class Grouping:
    tasks: list[TaskGroup]
    repeated: list[int]
    """Runs with the same task, series and seed as an earlier one."""


def group(runs: Sequence[Run]) -> Grouping:
    """Tasks and series, in the order in which they first appear."""
    keys = list(dict.fromkeys(_task(run.config) for run in runs if not _centralized(run)))
    keys = keys or list(dict.fromkeys(_task(run.config) for run in runs))
    tasks: list[TaskGroup] = []
    repeated: set[int] = set()
    for key in keys:
        members = [i for i, run in enumerate(runs) if _belongs(run, key)]
        tasks.append(_task_group(runs, members, _task_label(key, keys), repeated))
    return Grouping(tasks, sorted(repeated))


def _task_group(runs: Sequence[Run], members: list[int], label: str, repeated: set[int]) -> TaskGroup:
    varying = [name for name in _SETTINGS if len({_shown(name, runs[i]) for i in members}) > 1]
    found: dict[str, dict[int, int]] = {}
    for index in members:
        seeds = found.setdefault(_series_label(runs[index], varying), {})
        if seeds.setdefault(runs[index].config.run.seed, index) != index:
            repeated.add(index)
    series = [Series(name, [seeds[seed] for seed in sorted(seeds)]) for name, seeds in found.items()]
    central = [one.label for one in series if _centralized(runs[one.runs[0]])]
    own = is_own_task(runs[members[0]].config.task.dataset)
    return TaskGroup(label, own, central, series)


def _series_label(run: Run, varying: list[str]) -> str:
    """The label of a series: its method and the settings in which the series differ."""
    parts = [method_label(run.config)]
    parts += [f"{name}={_shown(name, run)}" for name in varying]
    return ", ".join(parts)


def _shown(name: str, run: Run) -> str:
    value = getattr(getattr(run.config, find_setting(name).table), name)
    exact = name == "cohort"  # 1 is one client, 1.0 is everybody
    return number(value) if isinstance(value, float) and not exact else str(value)


def _centralized(run: Run) -> bool:
    return run.config.method.name == "centralized"


_TaskKey = tuple[str, str, str, int, str]


def _task(config: Config) -> _TaskKey:
    task = config.task
    return task.dataset, str(task.model), task.partition, task.clients, config.run.dtype


def _belongs(run: Run, key: _TaskKey) -> bool:
    """Whether a run is part of a task; centralized training belongs to every partition of its data."""
    own = _task(run.config)
    if _centralized(run):
        return own[:2] == key[:2] and own[4] == key[4]
    return own == key


def _task_label(key: _TaskKey, keys: list[_TaskKey]) -> str:
    dataset, model, partition, clients, dtype = key
    label = f"{dataset}, {model}, {partition}, {clients} client{'s' * (clients != 1)}"
    return f"{label}, {dtype}" if len({other[4] for other in keys}) > 1 else label
