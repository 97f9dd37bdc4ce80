"""What was run on a task, and what its final accuracies show."""

import math
from collections.abc import Sequence

from bherd.conclusion import Contender, conclude, role_of
from bherd.report.grouping import Series, TaskGroup
from bherd.runs.read import Run
from bherd.statistics import interval
from bherd.step_length import mean_step
from bherd.step_notes import Stepper, step_notes


def headline(task: TaskGroup, runs: Sequence[Run]) -> list[str]:
    """The sentences of one task: first what was run, then who ends highest, then the rest.

    Who is ahead is said of accuracies alone, and not of a task's own metric.
    """
    contenders = [_contender(series, runs) for series in task.series]
    said = _own_metric(contenders) if task.own else conclude(contenders, task.centralized)
    return [_what(task, runs), *said, *_steps(task, runs)]


def _own_metric(contenders: Sequence[Contender]) -> list[str]:
    """What every method ends at, where nobody but the task knows whether more of it is better."""
    known = {one.label: [v for v in one.finals.values() if math.isfinite(v)] for one in contenders}
    ends = [f"{label} ends at {interval(values).mean:.4g}" for label, values in known.items() if values]
    said = ["The metric is the task's own: bherd does not know whether more of it is better."]
    return [f"{', '.join(ends)}.", *said] if ends else said


def _what(task: TaskGroup, runs: Sequence[Run]) -> str:
    counts = [len(series.runs) for series in task.series]
    rounds = sorted({runs[i].config.train.rounds for series in task.series for i in series.runs})
    length = f"{rounds[0]} rounds" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]} rounds"
    if len(task.series) == 1:
        who = task.series[0].label
        often = "" if counts[0] == 1 else f", {counts[0]} seeds"
    else:
        who = f"{len(task.series)} methods"
        few, many = min(counts), max(counts)
        often = f", {few} to {many} seeds each" if few != many else f", {_seeds(few)} each"
    return f"{who} on {task.label}, {length}{often}."


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _contender(series: Series, runs: Sequence[Run]) -> Contender:
    mine = [runs[i] for i in series.runs]
    finals = {run.config.run.seed: final for run in mine if (final := final_of(run)) is not None}
    step = mean_step([run.step for run in mine])
    role = role_of(mine[0].config, None if step is None else step.length)
    return Contender(series.label, finals, len(mine), role)


def _steps(task: TaskGroup, runs: Sequence[Run]) -> list[str]:
    """What is to be said of steps that are not as long as FedAvg's."""
    steppers = []
    for series in task.series:
        step = mean_step([runs[i].step for i in series.runs])
        if step is not None:
            steppers.append(Stepper(series.label, runs[series.runs[0]].config.method, step))
    return step_notes(steppers)


def final_of(run: Run) -> float | None:
    """Final accuracy of a run that came to its end, minus infinity if it diverged; None if unfinished."""
    if run.diverged_at is not None:
        return -math.inf
    return run.final_accuracy if run.status == "complete" else None
