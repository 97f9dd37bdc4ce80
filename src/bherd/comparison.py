"""Methods side by side: the same task and seeds, and what can honestly be said of the difference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bherd.config import Config, MethodConfig, from_dict, to_dict
from bherd.errors import InputError
from bherd.jobs import Job
from bherd.labels import folder_name, method_label
from bherd.runs.directory import read_metrics

METHOD_SETTINGS = ("alpha", "step", "server_lr")


class Interval(NamedTuple):
    """A mean over seeds and the half-width of its 95% confidence interval (NaN for one seed)."""

    mean: float
    half_width: float
    samples: int


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

    def reaches(self, target: float) -> tuple[int, float] | None:
        """The first evaluated round, and the seconds until then, with at least this accuracy."""
        for number, accuracy, seconds in zip(self.rounds, self.accuracy, self.seconds, strict=True):
            if accuracy >= target:
                return number, seconds
        return None


@dataclass(frozen=True)
class Row:
    """One method of the comparison."""

    label: str
    curves: list[Curve]

    @property
    def diverged(self) -> int:
        return sum(curve.diverged_at is not None for curve in self.curves)

    def final_accuracy(self) -> Interval:
        return interval([c.accuracy[-1] for c in self.curves if c.accuracy])

    def rounds_to(self, target: float) -> Interval:
        return interval([hit[0] for c in self.curves if (hit := c.reaches(target))])

    def seconds_to(self, target: float) -> Interval:
        return interval([hit[1] for c in self.curves if (hit := c.reaches(target))])


def interval(values: Sequence[float]) -> Interval:
    """Mean and 95% Student interval of independent values."""
    count = len(values)
    if count == 0:
        return Interval(math.nan, math.nan, 0)
    mean = math.fsum(values) / count
    if count == 1:
        return Interval(mean, math.nan, 1)
    from scipy.special import stdtrit  # Student's quantile; scipy.stats takes a second to import

    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    return Interval(mean, float(stdtrit(count - 1, 0.975)) * math.sqrt(variance / count), count)


def parse_variant(text: str, base: Config) -> Config:
    """'bherd-fedavg:alpha=0.3,step=amplified' -> the base configuration with that method."""
    name, _, details = text.partition(":")
    tree = to_dict(base)
    tree["method"] = {**tree["method"], "name": name}
    for detail in filter(None, details.split(",")):
        key, equals, value = detail.partition("=")
        if not equals or key not in METHOD_SETTINGS:
            raise InputError(
                f"method {text!r}: {detail!r} is not one of {', '.join(METHOD_SETTINGS)} with a value, "
                "as in bherd-fedavg:alpha=0.3,step=amplified"
            )
        tree["method"][key] = value if key == "step" else _number(text, value)
    return from_dict(tree, source=f"method {text!r}")


def _number(text: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(f"method {text!r}: {value!r} is not a number") from None


def plan(variants: Sequence[Config], seeds: Sequence[int], directory: Path) -> list[Job]:
    """A job for each method and seed, in DIRECTORY/METHOD/seed-S."""
    labels = [folder_name(variant) for variant in variants]
    if len(set(labels)) < len(labels):
        raise InputError(f"a method is given twice: {', '.join(labels)}")
    return [
        Job(variant.replace(seed=seed), directory / label / f"seed-{seed}")
        for seed in seeds
        for variant, label in zip(variants, labels, strict=True)
    ]


def collect(jobs: Sequence[Job]) -> list[Row]:
    """Read the finished jobs back, a row a method, in the order of the jobs."""
    rows: dict[MethodConfig, Row] = {}
    for job in jobs:
        row = rows.setdefault(job.config.method, Row(method_label(job.config), []))
        row.curves.append(_curve(job))
    return list(rows.values())


def _curve(job: Job) -> Curve:
    lines = read_metrics(job.directory)
    clock, seconds = 0.0, []
    for line in lines:
        clock += sum(line["seconds"].values())
        seconds.append(clock)
    evaluated = [(line, s) for line, s in zip(lines, seconds, strict=True) if line["test_loss"] is not None]
    diverged: list[Any] = [line["round"] for line in lines if line.get("diverged")]
    return Curve(
        job.config.run.seed,
        [line["round"] for line, _ in evaluated],
        [line["train_loss"] for line, _ in evaluated],
        [line["test_accuracy"] for line, _ in evaluated],
        [s for _, s in evaluated],
        diverged[0] if diverged else None,
    )


def default_target(rows: Sequence[Row]) -> float:
    """A target accuracy that the methods which converged have in common."""
    return common_target([row.final_accuracy().mean for row in rows if row.diverged == 0])


def common_target(finals: Sequence[float]) -> float:
    """The highest whole percent of accuracy that every method ends at, given their final accuracies.

    Methods that end more than a tenth below the best do not count; without any, it is one half.
    """
    near = [final for final in finals if final >= 0.9 * max(finals)]
    return math.floor(100 * min(near)) / 100 if near else 0.5


def paired_difference(first: Row, second: Row) -> Interval:
    """Final accuracy of `second` less that of `first`, seed by seed."""
    before = {c.seed: c.accuracy[-1] for c in first.curves if c.accuracy}
    pairs = [c.accuracy[-1] - before[c.seed] for c in second.curves if c.accuracy and c.seed in before]
    return interval(pairs)
