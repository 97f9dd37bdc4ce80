"""How long a method's step is beside FedAvg's, and whether its clients keep the share that was asked for.

A client with few local steps cannot keep a share alpha of them: of one step it keeps one. The equation's
step makes up for the nominal alpha all the same and is longer than FedAvg's, without any selection.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from bherd.method import Method, Report, shares
from bherd.tasks.task import plan_steps

OFF_BY = 0.1
"""A kept share that is further from alpha than this, relative to alpha, is told."""
SAME = 0.005
"""Lengths that differ by less, relative to FedAvg's, are shown as equal."""


class Step(NamedTuple):
    """What clients keep, and the length that the server's step has by it."""

    kept_share: float
    """Kept gradients over local steps, of all clients together."""
    asked_share: float | None
    """The nominal alpha; None for a selector that measures its own share."""
    length: float
    """In units of FedAvg's step with the same E, B and learning rate."""

    @property
    def note(self) -> str | None:
        """The sentence for a kept share that is not the one asked for; None where it is."""
        asked = self.asked_share
        if asked is None or abs(self.kept_share - asked) <= OFF_BY * asked:
            return None
        return (
            f"at alpha = {asked:g} these clients keep {self.kept_share:.0%} of their steps: "
            f"the step is {times_fedavg(self.length)}"
        )


def times_fedavg(length: float) -> str:
    """A length in words: "2.0 times FedAvg's", "as long as FedAvg's"."""
    if abs(length - 1) < SAME:
        return "as long as FedAvg's"
    digits = 1 if abs(length - round(length, 1)) < SAME else 2
    return f"{length:.{digits}f} times FedAvg's"


def step_of(method: Method, reports: Sequence[Report], epochs: float) -> Step:
    """The step that these reports lead to, by their steps, kept counts and weights alone.

    The length is the one that the step has where every gradient is the same vector: then FedAvg goes
    sum p_i tau_i of it, and how far another method goes is a matter of its factors only.

    Args:
        method: whose selector and server rule decide the step.
        reports: one for each client; what they sum up is not looked at.
        epochs: the factor E of the paper's aggregation.
    """
    ordered = sorted(reports, key=lambda report: report.client)
    ones = [r._replace(kept_sum=torch.tensor([r.kept], dtype=torch.float64)) for r in ordered]
    direction = float(method.server.direction(ones, method.selector.gain(ones, epochs)))
    fedavg = sum(p * report.steps for p, report in zip(shares(ones), ones, strict=True))
    kept_share = sum(report.kept for report in ones) / sum(report.steps for report in ones)
    asked = None if method.selector.keeps_everything else method.selector.share
    return Step(kept_share, asked, method.server.server_lr * direction / fedavg)


def planned_step(method: Method, sizes: Sequence[int], batch_size: int, epochs: float) -> Step | None:
    """The step before anything is run; None where only the gradients decide how many are kept.

    Args:
        method: whose selector and server rule decide the step.
        sizes: the number of samples of each client.
        batch_size: samples in a local step, B.
        epochs: local epochs per round, E.
    """
    count = method.selector.count
    if count is None:
        return None
    taken = [plan_steps(size, batch_size, epochs).steps for size in sizes]
    found = zip(sizes, taken, strict=True)
    reports = [_report(i, float(size), steps, count(steps)) for i, (size, steps) in enumerate(found)]
    return step_of(method, reports, epochs)


def measured_step(
    method: Method,
    sizes: Sequence[int],
    epochs: float,
    clients: npt.NDArray[np.integer],
    steps: npt.NDArray[np.integer],
    kept: npt.NDArray[np.integer],
) -> Step | None:
    """The step over all rounds of a run, each client counting as often as it took part.

    Args:
        method: whose selector and server rule decide the step.
        sizes: the number of samples of each client.
        epochs: local epochs per round, E.
        clients: the client of each row of the records.
        steps: its local steps in that round.
        kept: how many of them it kept.

    Returns:
        The step, or None for a run without a round.
    """
    if len(clients) == 0:
        return None
    rows, counts = np.unique(np.stack([clients, steps, kept]), axis=1, return_counts=True)
    whole = float(counts.sum())
    weights = np.array(sizes)[rows[0]] * (counts / whole)
    total = zip(weights.tolist(), *rows[1:].tolist(), strict=True)
    reports = [_report(i, weight, taken, held) for i, (weight, taken, held) in enumerate(total)]
    step = step_of(method, reports, epochs)
    return step._replace(kept_share=float(kept.sum()) / float(steps.sum()))


def _report(client: int, weight: float, steps: int, kept: int) -> Report:
    return Report(client, weight, steps, kept, torch.zeros(1, dtype=torch.float64))
