"""How a fetch tells what it is doing: a bar on a terminal, plain lines anywhere else."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Protocol, final

SECONDS_BETWEEN_LINES = 10.0


class Progress(Protocol):
    def say(self, message: str) -> None:
        """One finished line."""

    def update(self, what: str, done: int, total: int | None) -> None:
        """``done`` of ``total`` bytes of ``what``; a total of None means that nobody knows."""


@final
class Silent:
    """For callers who want no output."""

    def say(self, message: str) -> None:
        pass

    def update(self, what: str, done: int, total: int | None) -> None:
        pass


@final
class PlainLines:
    """For logs and pipes: a line when something starts and one every ten seconds."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._what = ""
        self._spoken = 0.0

    def say(self, message: str) -> None:
        print(message, file=self._stream, flush=True)

    def update(self, what: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if what == self._what and now - self._spoken < SECONDS_BETWEEN_LINES:
            return
        if total:
            amount = f" {done / 1e6:.1f} of {total / 1e6:.1f} MB"
        else:
            amount = f" {done / 1e6:.1f} MB" if done else ""
        self.say(f"  {what} ...{amount}")
        self._what, self._spoken = what, now


@contextmanager
def terminal_progress(stream: IO[str] | None = None) -> Iterator[Progress]:
    """A bar if ``stream`` (stderr by default) is a terminal, else plain lines."""
    chosen = sys.stderr if stream is None else stream
    if not chosen.isatty():
        yield PlainLines(chosen)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        SpinnerColumn,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as RichBars

    bars = RichBars(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeElapsedColumn(),
        console=Console(file=chosen),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    @final
    class Bars:
        def say(self, message: str) -> None:
            for what in list(tasks):
                bars.remove_task(tasks.pop(what))
            bars.console.print(message, markup=False, highlight=False, soft_wrap=True)

        def update(self, what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total)
            bars.update(tasks[what], completed=done, total=total)

    with bars:
        yield Bars()
