"""The lines of metrics.jsonl as they are read."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from bherd.errors import DamagedFileError
from bherd.loop.seconds import Seconds

_LAST = "last_"


class Measured(NamedTuple):
    """A model's losses and accuracy; None: not measured, or not finite."""

    train_loss: float | None
    test_loss: float | None
    test_accuracy: float | None


class Line(NamedTuple):
    """One round, as metrics.jsonl tells it. What was not measured after it is None."""

    round: int
    train_loss: float | None
    test_loss: float | None
    test_accuracy: float | None
    clients: int
    kept: int
    steps: int
    uplink_bytes: int
    seconds: Seconds
    diverged: bool = False
    last: Measured | None = None
    """Of the server's own model, where another one is shipped, which the measures above are of."""

    @property
    def evaluated(self) -> bool:
        """Whether the model was measured after this round."""
        return self.test_loss is not None or self.test_accuracy is not None

    def plain(self) -> dict[str, Any]:
        """The line as it stands in metrics.jsonl."""
        line = {**self._asdict(), "seconds": asdict(self.seconds)}
        last = {} if self.last is None else {_LAST + name: v for name, v in self.last._asdict().items()}
        hidden = {"last"} if self.diverged else {"last", "diverged"}
        return {**{key: line[key] for key in line if key not in hidden}, **last}


def parse_lines(path: Path, content: bytes) -> tuple[Line, ...]:
    """The lines of metrics.jsonl; a last line that a kill cut short is left out."""
    try:
        return tuple(_line(json.loads(line)) for line in content.rpartition(b"\n")[0].splitlines())
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error


def _line(found: dict[str, Any]) -> Line:
    measured = Measured(*(found[name] for name in Measured._fields))
    counts = (found["clients"], found["kept"], found["steps"], found["uplink_bytes"])
    last = None
    if f"{_LAST}test_loss" in found:
        last = Measured(*(found[_LAST + name] for name in Measured._fields))
    if not all(value is None or _is_number(value) for value in (*measured, *(last or ()))):
        raise ValueError(f"round {found['round']} was measured as {measured}")
    if not all(type(value) is int for value in (found["round"], *counts)):
        raise ValueError(f"round {found['round']} counts {counts}")
    seconds = Seconds(**found["seconds"])
    if not _is_number(seconds.total):
        raise ValueError(f"round {found['round']} took {seconds}")
    return Line(found["round"], *measured, *counts, seconds, bool(found.get("diverged", False)), last)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
