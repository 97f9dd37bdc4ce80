"""Methods side by side: the same task and seeds, and what can honestly be said of the difference."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bherd.conclusion import Contender, Role, role_of
from bherd.config import Config, MethodConfig, difference
from bherd.errors import BherdError, InputError
from bherd.labels import folder_name, method_label
from bherd.many.jobs import Job
from bherd.method_texts import SHORTHANDS, take_apart
from bherd.methods import spelled_out
from bherd.parts.spec import parameters
from bherd.parts.table import AXES
from bherd.runs.directory import find_runs
from bherd.runs.read import Run, read_config, read_run
from bherd.statistics import Interval, Reach, common_target, interval, reach, rounds_to
from bherd.step_length import Step, mean_step
from bherd.step_notes import Stepper, step_notes


@dataclass(frozen=True)
class Curve:
    """One finished run: what it reached, round by round."""

    seed: int
    rounds: list[int]
    train_loss: list[float | None]
    accuracy: list[float]
    seconds: list[float]
    """Time on the clock until the end of each evaluated round."""
    diverged_at: int | None

    @property
    def final_accuracy(self) -> float:
        """At the last evaluation; minus infinity for a run that diverged."""
        return -math.inf if self.diverged_at is not None or not self.accuracy else self.accuracy[-1]


@dataclass(frozen=True)
class Row:
    """One method of the comparison."""

    label: str
    curves: list[Curve]
    role: Role | None = None
    """What the method is in an argument about steps and choices, if its step's length is known."""
    method: MethodConfig | None = None
    step: Step | None = None
    """What its clients kept and how long its steps were, over all seeds."""

    @property
    def diverged(self) -> int:
        return sum(curve.diverged_at is not None for curve in self.curves)

    def final_accuracy(self) -> Interval:
        """Over the runs that did not diverge."""
        return interval([curve.final_accuracy for curve in self.curves])

    def rounds_to(self, target: float) -> Reach:
        return reach([rounds_to(curve.rounds, curve.accuracy, target) for curve in self.curves])

    def seconds_to(self, target: float) -> Reach:
        return reach([rounds_to(curve.seconds, curve.accuracy, target) for curve in self.curves])

    def contender(self) -> Contender:
        """The row for `conclude`."""
        finals = {curve.seed: curve.final_accuracy for curve in self.curves}
        return Contender(self.label, finals, len(self.curves), self.role)


def parse_variant(text: str, base: Config, common: Mapping[str, Any] | None = None) -> Config:
    """A method of a comparison: the base configuration with the method that a text names.

    Args:
        text: 'bherd-fedavg,alpha=0.3,step=amplified', as `--method` takes it.
        base: the settings that all methods share, with the order of all that do not name one.
        common: parts for all methods, and shorthands and the step for those that have them; what the text
            sets stays as the text has it.
    """
    _, own = take_apart(text)
    wanted = {key: value for key, value in (common or {}).items() if not _is_set(key, own)}
    parts = {"order": base.method.order, **{key: value for key, value in wanted.items() if key in AXES}}
    try:
        variant = base.replace(method=text, **{key: part for key, part in parts.items() if key not in own})
        variant = replace(variant, method=spelled_out(variant.method))  # imports a user's parts
    except InputError as error:
        said = str(error)
        raise InputError(said if said.startswith("method ") else f"method {text!r}: {said}") from error
    for key, value in wanted.items():
        if key not in AXES and has_setting(variant.method, key):
            variant = variant.replace(**{key: value})
    return variant


def _is_set(key: str, refinements: Mapping[str, str]) -> bool:
    """Whether a method's own refinements set it: `server_lr` is also 'server.lr'."""
    return key in refinements or ".".join(SHORTHANDS.get(key, ())) in refinements


def has_setting(method: MethodConfig, key: str) -> bool:
    """Whether a method has a step, or a part with this shorthand."""
    if key == "step":
        return method.selects
    axis, parameter = SHORTHANDS[key]
    return parameter in parameters(axis, method.part_name(axis))


def plan(variants: Sequence[Config], seeds: Sequence[int], directory: Path) -> list[Job]:
    """A job for each method and seed, in DIRECTORY/METHOD/seed-S."""
    labels = [folder_name(variant) for variant in variants]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"a method is given twice: {twice}. Leave one of them out, or tell them apart.")
    return [
        Job(variant.replace(seed=seed), directory / label / f"seed-{seed}")
        for seed in seeds
        for variant, label in zip(variants, labels, strict=True)
    ]


def free_folder(variants: Sequence[Config], seeds: Sequence[int], first: Path = Path("runs/compare")) -> Path:
    """Where a comparison goes that was told no folder: where it was begun, or a new numbered one.

    Args:
        variants: its methods.
        seeds: of each.
        first: the folder to try first; then comes the same with -2 behind it, and so on.
    """
    for number in itertools.count(1):
        folder = first if number == 1 else first.with_name(f"{first.name}-{number}")
        wanted = {job.directory: job.config for job in plan(variants, seeds, folder)}
        if all(path in wanted and _holds(path, wanted[path]) for path in find_runs(folder)):
            return folder
    raise AssertionError("unreachable")


def _holds(directory: Path, config: Config) -> bool:
    """Whether a run directory is of this configuration."""
    from bherd.session import resolve

    try:
        return difference(read_config(directory), resolve(config)) is None
    except BherdError:
        return False


def notes_on_steps(rows: Sequence[Row]) -> list[str]:
    """What is to be said of the lengths of the rows' steps."""
    return step_notes([Stepper(row.label, row.method, row.step) for row in rows if row.method and row.step])


def collect(jobs: Sequence[Job]) -> list[Row]:
    """Read the finished jobs back, a row a method, in the order of the jobs."""
    rows: dict[MethodConfig, list[Job]] = {}
    for job in jobs:
        rows.setdefault(job.config.method, []).append(job)
    return [_row(group) for group in rows.values()]


def _row(jobs: Sequence[Job]) -> Row:
    config = jobs[0].config
    runs = [read_run(job.directory) for job in jobs]
    step = mean_step([run.step for run in runs])
    role = role_of(config, None if step is None else step.length)
    return Row(method_label(config), [_curve(run) for run in runs], role, config.method, step)


def _curve(run: Run) -> Curve:
    points = run.points
    return Curve(
        run.config.run.seed,
        [point.line.round for point in points],
        [point.line.train_loss for point in points],
        [point.line.test_accuracy for point in points if point.line.test_accuracy is not None],
        [point.seconds for point in points],
        run.diverged_at,
    )


def default_target(rows: Sequence[Row]) -> float:
    """A target accuracy that the methods which converged have in common."""
    return common_target([row.final_accuracy().mean for row in rows])
