"""Quadratic federations: every client's loss is a mean of ||w - sample||^2 / 2, and resting points are known.

The loop, the parts and their memory are the real ones; only the gradient is written down here.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from bherd.loop.client import Outcome, Training, Work, begin_round, finish_round
from bherd.loop.server import choose_clients, server_round, shipped_params
from bherd.loop.state import Local, RunPlan, State, start_memory
from bherd.loop.visits import batches
from bherd.method import Method

MEANS = torch.tensor(
    [[2.0, 3.0, 0.0], [0.0, 1.5, 3.0], [1.5, -0.5, 2.0], [2.5, 2.0, 1.5], [0.5, 0.0, -1.5]],
    dtype=torch.float64,
)
"""Each client's own optimum."""
NOISE = 0.05
SPREAD = NOISE * torch.tensor([[1, 1, 0], [-1, -1, 0], [0, 1, -1], [0, -1, 1]], dtype=torch.float64)
"""Each client's samples about its optimum: four, which sum to zero two by two."""
START = torch.tensor([-2.0, 5.0, 4.0], dtype=torch.float64)
LOCAL = Local(batch_size=1, epochs=1.0, lr=0.1, seed=1)
STEPS = len(SPREAD)


def federate(method: Method, rounds: int = 100, cohort: int = len(MEANS)) -> Tensor:
    """The mean of the shipped models of the last rounds."""
    clients = len(MEANS)
    state = State(0, START, None, start_memory(method, START, clients), {})
    plan = RunPlan(rounds, cohort, LOCAL.epochs, LOCAL.lr, LOCAL.seed)
    seen = []
    for _ in range(rounds):
        asked, state = choose_clients(method, plan, clients, state)
        state = server_round(method, plan, clients, state, [train(method, state, i) for i in asked])
        seen.append(shipped_params(method, state))
    return torch.stack(seen[-max(1, rounds // 4) :]).mean(0)


def train(method: Method, state: State, client: int) -> Outcome:
    """One client's round."""
    samples = MEANS[client] + SPREAD
    work = begin_round(method, LOCAL, state, client, len(samples))
    return finish_round(work, _steps(work, samples), LOCAL, state.server)


def _steps(work: Work, samples: Tensor) -> Training:
    w, memory, directions = work.params, work.optimizer.init(work.params), []
    for inputs, _ in batches(work.plan, samples, samples, work.visits):
        gradient = w - inputs.mean(0) + work.terms.pull * (w - work.params)
        if work.terms.offset is not None:
            gradient = gradient + work.terms.offset
        direction, memory = work.optimizer.direction(memory, gradient, w)
        w = w - work.lr * direction
        directions.append(direction)
    return Training(torch.stack(directions), 0.0)


def mean_of(clients: Sequence[int], factors: Sequence[float] | None = None) -> Tensor:
    """Where these clients' pulls, each times a factor, are in balance."""
    weights = torch.ones(len(clients)) if factors is None else torch.tensor(factors)
    return (weights.to(MEANS)[:, None] * MEANS[list(clients)]).sum(0) / weights.sum()


def geometric_median() -> Tensor:
    """Where the unit vectors to all clients' optima sum to zero, by many small steps."""
    w = MEANS.mean(0)
    for number in range(20_000):
        pulls = w - MEANS
        w = w - 0.5 / (1 + number / 50) * (pulls / pulls.norm(dim=1, keepdim=True)).mean(0)
    return w
