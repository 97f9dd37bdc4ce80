"""The server's half of a round: from the clients' reports to the next state."""

from collections.abc import Sequence

from torch import Tensor

from bherd.loop.client import Outcome
from bherd.loop.state import Schedule, State
from bherd.method import Method, Report, shares


def server_round(
    method: Method, schedule: Schedule, clients: int, state: State, outcomes: list[Outcome]
) -> State:
    """The state that the outcomes lead to; `clients` is the number of all, present or not."""
    reports = sorted((outcome.report for outcome in outcomes), key=lambda report: report.client)
    params = aggregate(method, state.params, reports, local_lr=schedule.lr, epochs=schedule.epochs)
    shared, own = state.shared, state.own
    if method.correction.stateful:
        extras = [report.extra for report in reports if report.extra is not None]
        shared = method.correction.combine(shared, extras, clients)
        own = {**own, **{outcome.report.client: outcome.own for outcome in outcomes}}
    return State(state.round + 1, params, combine_buffers(reports), shared, own)


def aggregate(
    method: Method, params: Tensor, reports: Sequence[Report], *, local_lr: float, epochs: float
) -> Tensor:
    """The server's half of a round: new parameters from the reports, in any order."""
    ordered = sorted(reports, key=lambda report: report.client)
    gain = method.selector.gain(ordered, epochs)
    direction = method.server.direction(ordered, gain)
    return params - local_lr * method.server.server_lr * direction


def combine_buffers(reports: Sequence[Report]) -> Tensor | None:
    """The p_i-weighted mean of the clients' model buffers; None for a model without buffers."""
    ordered = sorted(reports, key=lambda report: report.client)
    mean: Tensor | None = None
    for p, report in zip(shares(ordered), ordered, strict=True):
        if report.buffers is not None:
            part = p * report.buffers
            mean = part if mean is None else mean + part
    return mean
