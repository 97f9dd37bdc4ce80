"""The length of a method's step and the share that its clients keep: before a run, and from its records."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from bherd.loop.server import weighted
from bherd.loop.visits import plan_steps
from bherd.method import Method, shares
from bherd.parts.records import Report
from bherd.step_length import Step


def step_of(method: Method, reports: Sequence[Report], epochs: float) -> Step:
    """The step that these reports lead to, by their steps, kept counts and weights alone.

    The length is the one that the step has where every gradient is the same vector: then FedAvg goes
    sum p_i tau_i of it, and how far another method goes is a matter of its factors only. Under a
    server that is not proportional (Adam and its kin) it is the length of the direction alone; what a server
    adds over the rounds (momentum, extrapolation) is not counted.

    Args:
        method: whose selector and server rule decide the step.
        reports: one for each client; what they sum up is not looked at.
        epochs: the factor E of the paper's aggregation.
    """
    ordered = sorted(reports, key=lambda report: report.client)
    ones = [r._replace(update=torch.tensor([r.kept], dtype=torch.float64)) for r in ordered]
    updates, factor = weighted(method, ones, epochs)
    direction = factor * sum(update.weight * float(update.vector) for update in updates)
    fedavg = sum(p * report.steps for p, report in zip(shares(ones), ones, strict=True))
    kept_share = sum(report.kept for report in ones) / sum(report.steps for report in ones)
    asked = None if method.selector.keeps_all else method.selector.nominal_share()
    rate = float(getattr(method.server, "lr", 1.0)) if method.server.proportional else 1.0
    return Step(kept_share, asked, rate * direction / fedavg)


def planned_step(method: Method, sizes: Sequence[int], batch_size: int, epochs: float) -> Step | None:
    """The step of round 1, before anything is run; None where only the gradients decide how many are kept.

    Args:
        method: whose selector and server rule decide the step.
        sizes: the number of samples of each client.
        batch_size: samples in a local step, B.
        epochs: local epochs per round, E.
    """
    method, reports = method.at(1), []
    for client, size in enumerate(sizes):
        steps = plan_steps(size, batch_size, float(epochs)).steps
        kept = method.selector.count(steps)
        if kept is None:
            return None
        reports.append(_report(client, float(size), steps, kept))
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
