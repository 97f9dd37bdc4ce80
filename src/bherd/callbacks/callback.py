"""The callback: what a run tells others while it goes on.

Yours is five lines:

    from bherd.callbacks import Callback, run_with

    def say(line):
        print(line["round"], line["test_accuracy"])

    run_with(config, Path("runs/mine"), [Callback(round=say)])
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bherd.config import Config

MetricsLine = dict[str, Any]
"""A line of metrics.jsonl, as a dictionary; docs/querying.md has its fields."""
Summary = dict[str, Any]
"""The content of summary.json."""


def _nothing(*_: object) -> None:
    return


@dataclass(frozen=True)
class Callback:
    """Three moments of a run. Each is a function; those that are left out do nothing."""

    round: Callable[[MetricsLine], None] = _nothing
    """After a round has been recorded."""
    start: Callable[[Config, Path], None] = _nothing
    """Called once, after the first round and before `round`, with the configuration and the run directory."""
    end: Callable[[Summary | None], None] = _nothing
    """At the end, with the summary; None where the run was stopped or failed."""


@contextmanager
def following(
    callbacks: Sequence[Callback], config: Config, directory: Path
) -> Iterator[tuple[Callable[[MetricsLine], None], Callable[[Summary], Summary]]]:
    """Start the callbacks with the first round, and end those that were started, whatever happens.

    Yields what to call after each round, and what to give the summary to. A run that is refused before
    its first round leaves nothing behind in any tracker.
    """
    started: list[Callback] = []
    ended: list[Summary] = []

    def on_round(line: MetricsLine) -> None:
        for callback in callbacks[len(started) :]:
            callback.start(config, directory)
            started.append(callback)
        for callback in callbacks:
            callback.round(line)

    def keep(summary: Summary) -> Summary:
        ended.append(summary)
        return summary

    try:
        yield on_round, keep
    finally:
        for callback in started:
            callback.end(ended[0] if ended else None)


def run_with(config: Config, directory: Path, callbacks: Sequence[Callback]) -> Summary:
    """`bherd.runs.life.run`, with callbacks."""
    from bherd.runs.life import run

    with following(callbacks, config, directory) as (on_round, keep):
        return keep(run(config, directory, on_round))


def resume_with(directory: Path, callbacks: Sequence[Callback]) -> Summary:
    """`bherd.runs.life.resume`, with callbacks; rounds recorded before the resume are not reported again."""
    from bherd.runs.life import resume
    from bherd.runs.read import read_config

    with following(callbacks, read_config(directory), directory) as (on_round, keep):
        return keep(resume(directory, on_round))
