"""A federated method is a product of three choices: correction x selector x server rule.

Each choice is a small value made of pure functions over flat arrays, so that every combination is
legal and a new one is one small file. The arrays are torch tensors of one dtype and device:
parameters and gradients of shape (d,), the trace of one client's local gradients of shape (steps, d).

One round, for the server parameters w and the correction's shared state c:

    each client i:  trace of its local SGD from w, every gradient changed by the correction's offset
                    kept   = selector.select(trace)
                    Report = (sum of the kept gradients, how many, steps, weight, correction's extra)
    the server:     w <- server.update(reports)          c <- correction.combine(extras)
"""

import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from torch import Tensor

from bherd.method_settings import StepLength as StepLength

STEP_LENGTHS: tuple[StepLength, ...] = typing.get_args(StepLength)
Indices = npt.NDArray[np.int64]


class Report(NamedTuple):
    """What one client sends to the server at the end of a round."""

    client: int
    weight: float
    """The number of the client's samples; the server turns weights into shares p_i."""
    steps: int
    """Local steps taken, tau_i."""
    kept: int
    """Gradients kept, k_i."""
    kept_sum: Tensor
    """Sum of the kept gradients, g_i, of shape (d,)."""
    extra: Tensor | None = None
    """What the correction wants the server to have (SCAFFOLD: the change of c_i)."""
    buffers: Tensor | None = None
    """The model's buffers after local training (BatchNorm statistics), if it has any."""


class Gain(NamedTuple):
    """How much longer than the plain sum of kept gradients the server's step is.

    `share` is the nominal alpha of the selector, or the measured one where the selector has none;
    `epochs` is the factor E of the paper's aggregation where it belongs to the selector, else 1.
    """

    epochs: float
    share: float


@dataclass(frozen=True)
class Selector:
    """Chooses which local gradients count.

    `select` is given the trace, of shape (steps, d), and a random stream of its own, and returns the
    kept indices in order of selection: at least one, none twice.
    """

    name: str
    select: Callable[[Tensor, np.random.Generator], Indices]
    share: float | None
    """The nominal share alpha that the server's step makes up for; None: measured, round by round."""
    scales_with_epochs: bool
    """Whether the factor E of the paper's aggregation belongs to this selector."""
    keeps_everything: bool = False
    """True lets an engine sum the gradients as they come instead of storing them."""
    count: Callable[[int], int] | None = None
    """How many of tau gradients it keeps, where that is known before they are seen."""

    def gain(self, reports: Sequence[Report], epochs: float) -> Gain:
        """The factors by which the server's step makes up for the gradients that were left out."""
        share = self.share
        if share is None:
            share = sum(p * r.kept / r.steps for p, r in zip(shares(reports), reports, strict=True))
        return Gain(epochs if self.scales_with_epochs else 1.0, share)


@dataclass(frozen=True)
class Correction:
    """Changes every local gradient by a constant of the round, and may keep state to do so.

    `own` is the client's state and `shared` the server's, both of shape (d,), both zero at the start.
    """

    name: str
    stateful: bool
    """False: `own` and `shared` are never looked at and need not be stored."""
    offset: Callable[[Tensor, Tensor], Tensor]
    """(own, shared) -> what is added to every gradient of the round."""
    finish: Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
    """(own, shared, mean of the kept corrected gradients) -> (new own, extra for the server)."""
    combine: Callable[[Tensor, Sequence[Tensor], int], Tensor]
    """(shared, extras of the round's clients, number of all clients) -> new shared."""


@dataclass(frozen=True)
class Server:
    """Turns the reports of a round into the direction of the server's step.

    The direction is in units of the local learning rate: w <- w - local_lr * server_lr * direction.
    Reports come sorted by client, so that the sum is the same whatever the order of arrival.
    """

    name: str
    direction: Callable[[Sequence[Report], Gain], Tensor]
    server_lr: float = 1.0


@dataclass(frozen=True)
class Method:
    """One federated method: a correction, a selector and a server rule, and its habit of shuffling."""

    correction: Correction
    selector: Selector
    server: Server
    reshuffle: bool = False
    """Whether clients draw a new order of their samples every epoch, unless the user says otherwise."""


def shares(reports: Sequence[Report]) -> list[float]:
    """The weights p_i of the clients that took part, which sum to 1."""
    total = sum(report.weight for report in reports)
    return [report.weight / total for report in reports]
