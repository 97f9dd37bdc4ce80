"""The server's half of a round: whom it asks, and from the clients' reports to the next state."""

import math
from collections.abc import Sequence
from fractions import Fraction

from torch import Tensor

from bherd.exact import decimal
from bherd.loop.client import Outcome
from bherd.loop.state import RunPlan, State, remembered
from bherd.method import Method, shares
from bherd.parts.part import Tensors
from bherd.parts.records import Report, Step, Update
from bherd.streams import stream


def choose_clients(method: Method, plan: RunPlan, clients: int, state: State) -> tuple[list[int], State]:
    """The clients of the next round, ascending, and the state that remembers having asked them."""
    number = state.round + 1
    part = method.at(number).participation
    before = state.server.get("participation", {})
    draw = stream(plan.seed, "participation", number)
    chosen, after = part.choose(before, number, clients, cohort_size(plan.cohort, clients), draw)
    asked = sorted(int(client) for client in chosen)
    if after is not before:
        state = state._replace(server=remembered({**state.server, "participation": after}))
    return asked, state


def cohort_size(cohort: int | float, clients: int) -> int:
    """How many clients a round asks: a number, or for a share s max(1, floor(s N + 1/2)).

    >>> cohort_size(10, 1000), cohort_size(0.1, 25), cohort_size(1.0, 5)
    (10, 3, 5)
    """
    if isinstance(cohort, int):
        return min(cohort, clients)
    return max(1, math.floor(decimal(cohort) * clients + Fraction(1, 2)))


def server_round(
    method: Method, plan: RunPlan, clients: int, state: State, outcomes: Sequence[Outcome]
) -> State:
    """The state that the outcomes lead to.

    Args:
        method: whose parts decide.
        plan: with the local learning rate and epochs.
        clients: the number of all clients, present or not.
        state: the state that the clients began from.
        outcomes: one for each client that answered, in any order.
    """
    now, plan = method.at(state.round + 1), plan.at(state.round + 1)
    reports = sorted((outcome.report for outcome in outcomes), key=lambda report: report.client)
    params, moved = aggregate(
        now,
        state.server.get("server", {}),
        state.params,
        reports,
        local_lr=plan.lr,
        epochs=plan.epochs,
    )
    messages = [report.message for report in reports]
    corrected, shift = now.correction.server_end(state.server.get("correction", {}), messages, clients)
    if shift is not None:
        params = params + shift
    memory = {
        "participation": now.participation.observe(state.server.get("participation", {}), reports),
        "correction": corrected,
        "server": moved,
        "shipped": now.shipped.update(state.server.get("shipped", {}), params),
    }
    own = state.clients
    fresh = {outcome.report.client: outcome.memory for outcome in outcomes if outcome.memory}
    if fresh:
        own = {**own, **fresh}
    return State(state.round + 1, params, combine_buffers(reports), remembered(memory), own)


def aggregate(
    method: Method,
    memory: Tensors,
    params: Tensor,
    reports: Sequence[Report],
    *,
    local_lr: float,
    epochs: float,
) -> tuple[Tensor, Tensors]:
    """New parameters from the reports, in any order, and what the server's optimizer remembers.

    Args:
        method: whose selector, aggregation, server and step decide.
        memory: what the server's optimizer remembers.
        params: the server's parameters.
        reports: one for each client that answered.
        local_lr: the local learning rate.
        epochs: the factor E of the paper's aggregation.
    """
    ordered = sorted(reports, key=lambda report: report.client)
    updates, factor = weighted(method, ordered, epochs)
    direction = factor * method.aggregation.combine(updates)

    def mean_square() -> float:
        return sum(u.share * (factor * u.scale) ** 2 * float(u.vector @ u.vector) for u in updates)

    return method.server.update(memory, params, Step(direction, local_lr, mean_square))


def weighted(method: Method, reports: Sequence[Report], epochs: float) -> tuple[list[Update], float]:
    """The updates with their weights, and the common factor: the one place where the step's length lives.

    With g_i the update, k_i what it counts, p_i the client's share of the samples, the direction is

        equation:   (E / alpha) sum p_i g_i
        amplified:  (E / alpha) sum p_i tau_i g_i / k_i
        matched:    sum p_i tau_i g_i / k_i

    where alpha is the selector's nominal share, or what its clients kept, and E is 1 for a selector that
    has no such factor. `matched` is as long as FedAvg's step whatever tau_i is. A normalizing aggregation
    (FedNova) takes means, so that only E and the effective number of steps remain:

        equation:   E tau_eff sum p_i g_i / k_i,  tau_eff = sum p_i tau_i
        amplified:  the same, 1 / alpha longer
        matched:    tau_eff sum p_i g_i / k_i
    """
    p = shares(reports)
    selector, step = method.selector, method.step
    share = selector.nominal_share()
    if share is None:
        share = sum(each * r.counted / r.steps for each, r in zip(p, reports, strict=True))
    if not selector.scales_with_epochs or step == "matched":
        epochs = 1.0
    if method.aggregation.normalizes:
        effective = sum(each * r.steps for each, r in zip(p, reports, strict=True))
        length = 1.0 / share if step == "amplified" else 1.0
        updates = [
            Update(r.update, each, 1.0 / r.counted, each / r.counted)
            for each, r in zip(p, reports, strict=True)
        ]
        return updates, epochs * length * effective
    scales = [1.0 if step in (None, "equation") else r.steps / r.counted for r in reports]
    updates = [
        Update(r.update, each, scale, each * scale) for each, scale, r in zip(p, scales, reports, strict=True)
    ]
    return updates, 1.0 if step == "matched" else epochs / share


def shipped_params(method: Method, state: State) -> Tensor:
    """The parameters that are evaluated and saved."""
    return method.at(state.round).shipped.model(state.server.get("shipped", {}), state.params)


def combine_buffers(reports: Sequence[Report]) -> Tensor | None:
    """The p_i-weighted mean of the clients' model buffers; None for a model without buffers."""
    ordered = sorted(reports, key=lambda report: report.client)
    mean: Tensor | None = None
    for p, report in zip(shares(ordered), ordered, strict=True):
        if report.buffers is not None:
            part = p * report.buffers
            mean = part if mean is None else mean + part
    return mean
