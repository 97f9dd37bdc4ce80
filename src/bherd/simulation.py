"""`simulate`: a whole federation in memory, for use from Python."""

import warnings
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

from torch import Tensor

from bherd.config import Config
from bherd.loop.rounds import Round, run_rounds
from bherd.loop.server import shipped_params
from bherd.loop.state import start_state
from bherd.method import Method
from bherd.runs.records import metrics_line
from bherd.session import prepare
from bherd.tasks.flat import state_of
from bherd.tasks.task import Task


class Result(NamedTuple):
    """What a simulation gives back."""

    config: Config
    """The configuration as it was resolved."""
    params: Tensor
    """The final parameters, of shape (d,); the last finite ones where the run diverged."""
    model: dict[str, Tensor]
    """Parameters and buffers by name, as the module's `load_state_dict` takes them."""
    metrics: list[dict[str, Any]]
    """A line a round, the same as in metrics.jsonl."""
    diverged_at: int | None

    @property
    def accuracy(self) -> float:
        """Test accuracy at the last evaluation."""
        values = [m["test_accuracy"] for m in self.metrics if m["test_accuracy"] is not None]
        return float(values[-1]) if values else float("nan")


def simulate(
    config: Config | None = None,
    *,
    task: Task | None = None,
    method: Method | str | None = None,
    on_round: Callable[[Round], None] | None = None,
) -> Result:
    """Run a federation and return its result; nothing is written to disk.

    Args:
        config: every setting; the defaults of `Config` where it is left out.
        task: data and model of your own, in place of those that the configuration names.
        method: a name such as 'fedavg' or 'fedavg,server=adam', or a `Method` of your own, in place of the
            one that the configuration names.
        on_round: called with the record of each round.

    Warns where clients cannot keep the share that was asked for, so that the step has another length.

    >>> from bherd import Config
    >>> result = simulate(Config().replace(rounds=3, lr=0.01), method="bherd-fedavg,alpha=0.5")
    >>> len(result.metrics)
    3
    """
    session = prepare(config or Config(), task=task, method=method)
    step = session.step()
    if step is not None and step.note is not None:
        warnings.warn(step.note, stacklevel=2)
    state = start_state(session.task, session.method)
    metrics: list[dict[str, Any]] = []
    diverged_at = None
    with closing(session.engine()) as engine:
        for after, record in run_rounds(engine, session.task, session.method, session.plan, state):
            state = after
            metrics.append(metrics_line(record))
            diverged_at = record.round if record.diverged else None
            if on_round is not None:
                on_round(record)
    params = shipped_params(session.method, state)
    model = state_of(session.task.model.module, params, state.buffers)
    return Result(session.config, params, model, metrics, diverged_at)
