"""How far the whole grid is: a live line on a terminal, now and then a plain line elsewhere."""

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from paper.estimate import spell

PLAIN_EVERY = 20.0


class Progress:
    """Counts runs and the work in them; what is left is told from the speed so far.

    Args:
        expected: the seconds that each run is expected to take.
    """

    def __init__(self, expected: Sequence[float]) -> None:
        self._count, self._work = len(expected), sum(expected)
        self._done, self._finished_work = 0, 0.0
        self._start = self._last = time.monotonic()
        self._live = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live and self._done:
            sys.stderr.write("\n")

    def add(self, seconds: float) -> None:
        """A run has ended that was expected to take so long."""
        self._done += 1
        self._finished_work += seconds
        now = time.monotonic()
        if self._live:
            sys.stderr.write(f"\r\x1b[K{self.line(now)}")
        elif now - self._last >= PLAIN_EVERY or self._done == self._count:
            sys.stderr.write(self.line(now) + "\n")
            self._last = now
        sys.stderr.flush()

    def line(self, now: float) -> str:
        """What to say at a moment."""
        share = self._finished_work / self._work if self._work else 1.0
        left = (now - self._start) * (1 - share) / share if share else 0.0
        return f"{self._done} of {self._count} runs, {100 * share:.0f}% of the work, {spell(left)} left"
