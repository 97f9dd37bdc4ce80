"""Timing several ways of doing the same thing, taken in turns so that the machine's moods hit all."""

import statistics
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch


class Contestant(NamedTuple):
    """One way of doing it."""

    name: str
    burst: Callable[[], list[float]]
    """Do it some times and return the seconds that each took."""
    threads: int = 1
    """Threads that torch may use for one operation."""


class Timing(NamedTuple):
    """What was measured of one contestant."""

    name: str
    minimum: float
    median: float
    measured: int


def race(contestants: Sequence[Contestant], turns: int = 5) -> list[Timing]:
    """Let everybody have this many turns, one after the other."""
    seconds: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for _ in range(turns):
        for contestant in contestants:
            torch.set_num_threads(contestant.threads)
            seconds[contestant.name].extend(contestant.burst())
    return [Timing(name, min(all_), statistics.median(all_), len(all_)) for name, all_ in seconds.items()]


def repeated(work: Callable[[], object], times: int, warm: int = 1) -> Callable[[], list[float]]:
    """A burst that does the work `times` times, after some that do not count."""

    def burst() -> list[float]:
        for _ in range(warm):
            work()
        seconds = []
        for _ in range(times):
            begin = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - begin)
        return seconds

    return burst
