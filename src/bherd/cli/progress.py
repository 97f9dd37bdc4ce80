"""How a run talks while it goes on: a live bar, plain lines, JSON lines, or nothing."""

import json
import sys
import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self


class Reporter(ABC):
    """Follows the rounds of one run. Used as a context manager around the run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @abstractmethod
    def round(self, line: dict[str, Any]) -> None:
        """A round is done; `line` is its line of metrics.jsonl."""

    @abstractmethod
    def close(self) -> None:
        """The run has ended, well or not."""

    @abstractmethod
    def message(self, text: str) -> None:
        """Tell the user something."""


class QuietReporter(Reporter):
    """Says nothing."""

    def round(self, line: dict[str, Any]) -> None:
        del line

    def close(self) -> None:
        return

    def message(self, text: str) -> None:
        del text


class JsonReporter(Reporter):
    """One JSON object a round on standard output, for programs."""

    def round(self, line: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    def close(self) -> None:
        return

    def message(self, text: str) -> None:
        del text


class PlainReporter(Reporter):
    """About ten lines a run, for logs and pipes."""

    def __init__(self, rounds: int) -> None:
        self._every = max(1, rounds // 10)
        self._rounds = rounds

    def round(self, line: dict[str, Any]) -> None:
        if line["round"] % self._every == 0 or line["round"] == self._rounds:
            self.message(f"round {line['round']}/{self._rounds}  {figures(line)}")

    def close(self) -> None:
        return

    def message(self, text: str) -> None:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


class LiveReporter(Reporter):
    """A bar with loss, accuracy and time left."""

    def __init__(self, rounds: int) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("round"),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(compact=True),
        )
        self._bar = self._progress.add_task("", total=rounds)
        self._shown = 0.0
        self._progress.start()

    def round(self, line: dict[str, Any]) -> None:
        now = time.monotonic()
        if now - self._shown < 0.05 and line["round"] != self._progress.tasks[0].total:
            return
        self._shown = now
        self._progress.update(self._bar, completed=line["round"], description=figures(line))

    def close(self) -> None:
        self._progress.stop()

    def message(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)


def figures(line: dict[str, Any], *, own_metric: bool = False) -> str:
    """Loss and accuracy of a metrics line, as people read them; a task's own metric is a plain number."""
    parts = []
    loss = line["train_loss"] if line["train_loss"] is not None else line["test_loss"]
    if loss is not None:
        parts.append(f"loss {loss:.4f}")
    if line["test_accuracy"] is not None and own_metric:
        parts.append(f"metric {line['test_accuracy']:.4g}")
    elif line["test_accuracy"] is not None:
        parts.append(f"accuracy {line['test_accuracy']:.2%}")
    return "  ".join(parts) or "not evaluated"


def reporter(rounds: int, *, quiet: bool, as_json: bool) -> Reporter:
    """The reporter for this terminal and these flags."""
    if as_json:
        return JsonReporter()
    if quiet:
        return QuietReporter()
    if sys.stdout.isatty():
        return LiveReporter(rounds)
    return PlainReporter(rounds)
