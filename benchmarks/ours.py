"""Our own rounds as contestants: through `simulate` or `bherd run`, all that a user pays for included."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.race import Contestant
from bherd import simulate
from bherd.config import Config
from bherd.runs.life import run
from bherd.tasks.task import Task


def simulated(name: str, config: Config, task: Task, skip: int = 2) -> Contestant:
    """A burst is one simulation in memory; the first rounds do not count."""

    def burst() -> list[float]:
        return _stamped(lambda stamp: simulate(config, task=task, on_round=lambda _: stamp()), skip)

    return Contestant(name, burst)


def recorded(name: str, config: Config, skip: int = 2) -> Contestant:
    """A burst is one run into a directory, with everything that `bherd run` writes."""

    def burst() -> list[float]:
        with tempfile.TemporaryDirectory() as folder:
            return _stamped(lambda stamp: run(config, Path(folder) / "run", lambda _: stamp()), skip)

    return Contestant(name, burst)


def _stamped(work: Callable[[Callable[[], None]], object], skip: int) -> list[float]:
    stamps: list[float] = []
    work(lambda: stamps.append(time.perf_counter()))
    return [after - before for before, after in zip(stamps[skip:], stamps[skip + 1 :], strict=False)]
