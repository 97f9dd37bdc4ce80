"""The paper's pseudo-code once more, in plain numpy and fractions, without a line of bherd.

Written from the paper and its page of decisions alone: direct norms instead of Gram matrices,
hand-derived gradients instead of autograd, one small function a formula. Slow on purpose.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Rows = Sequence[Sequence[Fraction]]


# --- selection, exact ------------------------------------------------------------------------


def fractions_of(values: npt.ArrayLike) -> list[list[Fraction]]:
    """Every float as the exact rational number that it is."""
    return [[Fraction(float(x)) for x in row] for row in np.asarray(values)]


def exact_herding(rows: Rows, count: int) -> list[int]:
    """Algorithm 'Herding with Greedy Ordering' in exact arithmetic; ties to the lowest index."""
    steps, width = len(rows), len(rows[0])
    mean = [sum((row[j] for row in rows), Fraction(0)) / steps for j in range(width)]
    centred = [[row[j] - mean[j] for j in range(width)] for row in rows]
    total = [Fraction(0)] * width
    left = list(range(steps))
    order = []
    for _ in range(count):
        norms = [sum((total[j] + centred[i][j]) ** 2 for j in range(width)) for i in left]
        best = left[norms.index(min(norms))]
        left.remove(best)
        total = [total[j] + centred[best][j] for j in range(width)]
        order.append(best)
    return order


def exact_grab(rows: Rows) -> list[int]:
    """The signs of algorithm 'Grab-FedAvg' in exact arithmetic: the steps with plus, or all."""
    steps, width = len(rows), len(rows[0])
    mean = [Fraction(0)] * width
    total = [Fraction(0)] * width
    plus = []
    for step, row in enumerate(rows):
        mean = [m + g / steps for m, g in zip(mean, row, strict=True)]
        centred = [g - m for g, m in zip(row, mean, strict=True)]
        longer = [s + z for s, z in zip(total, centred, strict=True)]
        shorter = [s - z for s, z in zip(total, centred, strict=True)]
        if sum(x * x for x in longer) < sum(x * x for x in shorter):
            total = longer
            plus.append(step)
        else:
            total = shorter
    return plus or list(range(steps))


# --- selection, in floats --------------------------------------------------------------------


def naive_herding(trace: Floats, count: int) -> list[int]:
    """The same greedy order by the norms of float vectors."""
    centred = trace - trace.mean(0)
    total = np.zeros(trace.shape[1])
    order: list[int] = []
    for _ in range(count):
        norms = [
            math.inf if i in order else float(np.linalg.norm(total + centred[i])) for i in range(len(trace))
        ]
        order.append(int(np.argmin(norms)))
        total = total + centred[order[-1]]
    return order


def naive_grab(trace: Floats) -> list[int]:
    """The same signs by the norms of float vectors."""
    mean, total = np.zeros(trace.shape[1]), np.zeros(trace.shape[1])
    plus = []
    for step, gradient in enumerate(trace):
        mean = mean + gradient / len(trace)
        centred = gradient - mean
        if np.linalg.norm(total + centred) < np.linalg.norm(total - centred):
            total = total + centred
            plus.append(step)
        else:
            total = total - centred
    return plus or list(range(len(trace)))


# --- counts ----------------------------------------------------------------------------------


def local_steps(size: int, batch: int, epochs: Fraction) -> int:
    """Decision 1: tau = max(1, floor(E |D| / B))."""
    return max(1, math.floor(epochs * size / batch))


def kept_steps(alpha: Fraction, steps: int) -> int:
    """Decision 2: k = max(1, floor(alpha tau + 1/2))."""
    return max(1, math.floor(alpha * steps + Fraction(1, 2)))


# --- linear models ---------------------------------------------------------------------------


def svm_loss_and_gradient(w: Floats, x: Floats, labels: Labels) -> tuple[float, Floats]:
    """Decision 4: w = (weights, bias); sample by sample, as the formula reads."""
    weights, bias = w[:-1], w[-1]
    loss, gradient = 0.05 * float(weights @ weights), np.append(0.1 * weights, 0.0)
    for sample, label in zip(x, labels, strict=True):
        y = 1.0 if label % 2 == 0 else -1.0
        slack = max(0.0, 1.0 - y * float(weights @ sample + bias))
        loss += 0.5 * slack**2 / len(x)
        gradient -= slack * y * np.append(sample, 1.0) / len(x)
    return loss, gradient


def logistic_loss_and_gradient(w: Floats, x: Floats, labels: Labels) -> tuple[float, Floats]:
    """Multinomial cross entropy; w = (weights row by row, biases)."""
    classes = len(w) // (x.shape[1] + 1)
    weights, biases = w[: classes * x.shape[1]].reshape(classes, -1), w[classes * x.shape[1] :]
    loss, by_weights, by_biases = 0.0, np.zeros_like(weights), np.zeros(classes)
    for sample, label in zip(x, labels, strict=True):
        scores = weights @ sample + biases
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        loss -= math.log(chances[label]) / len(x)
        chances[label] -= 1.0
        by_weights += np.outer(chances, sample) / len(x)
        by_biases += chances / len(x)
    return loss, np.concatenate([by_weights.ravel(), by_biases])


LossAndGradient = Callable[[Floats, Floats, Labels], tuple[float, Floats]]


# --- rounds ----------------------------------------------------------------------------------


@dataclass
class Federation:
    """One method on one linear task, a round at a time. Selector and server are named by words."""

    x: list[Floats]
    """The samples of each client, in its order."""
    labels: list[Labels]
    model: LossAndGradient
    w: Floats
    lr: float
    batch: int
    epochs: Fraction
    base: str
    """fedavg, fednova or scaffold"""
    selector: str = "everything"
    """everything, herding, reversed, grab, or random, which asks `choose`"""
    alpha: Fraction = Fraction(1)
    step: str = "equation"
    """equation, amplified or matched"""
    server_lr: float = 1.0
    choose: Callable[[int, int, int], Sequence[int]] | None = None
    """(round, client, steps) -> the steps that a random selector draws"""
    visit: Callable[[int, int], Sequence[Labels]] | None = None
    """(round, client) -> the sample orders of that round's epochs; None: the client's own order"""
    round: int = 0
    shared: Floats = field(init=False)
    own: list[Floats] = field(init=False)

    def __post_init__(self) -> None:
        self.shared = np.zeros_like(self.w)
        self.own = [np.zeros_like(self.w) for _ in self.x]

    def run_round(self, clients: Sequence[int]) -> None:
        """Local training of these clients and the server's step."""
        self.round += 1
        sizes = [len(self.x[i]) for i in clients]
        p = [size / sum(sizes) for size in sizes]
        traces = [self._train(i) for i in clients]
        kept = [self._select(i, trace) for i, trace in zip(clients, traces, strict=True)]
        self.w = self.w - self.lr * self.server_lr * self._direction(p, traces, kept)
        if self.base == "scaffold":
            self._move_control_variates(clients, traces, kept)

    def _train(self, client: int) -> Floats:
        x, labels = self.x[client], self.labels[client]
        steps = local_steps(len(x), self.batch, self.epochs)
        batch, per_epoch = min(self.batch, len(x)), max(1, len(x) // self.batch)
        w, trace = self.w.copy(), []
        for step in range(steps):
            epoch, position = divmod(step, per_epoch)
            order = np.arange(len(x)) if self.visit is None else self.visit(self.round, client)[epoch]
            rows = order[position * batch : (position + 1) * batch]
            _, gradient = self.model(w, x[rows], labels[rows])
            if self.base == "scaffold":
                gradient = gradient - self.own[client] + self.shared
            w = w - self.lr * gradient
            trace.append(gradient)
        return np.array(trace)

    def _select(self, client: int, trace: Floats) -> list[int]:
        steps = len(trace)
        if self.choose is not None:
            return list(self.choose(self.round, client, steps))
        if self.selector == "grab":
            return exact_grab(fractions_of(trace))
        if self.selector == "everything":
            return list(range(steps))
        # Exact, since two gradients are always equally far from their mean: a tie, for the lower index.
        count = kept_steps(self.alpha, steps)
        if self.selector == "reversed":
            return exact_herding(fractions_of(trace), steps)[::-1][:count]
        return exact_herding(fractions_of(trace), count)

    def _direction(self, p: list[float], traces: list[Floats], kept: list[list[int]]) -> Floats:
        """Decisions 7, 9 and 11."""
        share, factor = float(self.alpha), float(self.epochs)
        if self.selector == "everything":
            share, factor = 1.0, 1.0
        if self.selector == "grab":
            measured = [len(k) / len(trace) for k, trace in zip(kept, traces, strict=True)]
            share, factor = sum(a * b for a, b in zip(p, measured, strict=True)), 1.0
        sums = [trace[k].sum(0) for trace, k in zip(traces, kept, strict=True)]
        total = np.zeros_like(self.w)
        if self.base == "fednova":
            effective = sum(a * len(trace) for a, trace in zip(p, traces, strict=True))
            for weight, g, k in zip(p, sums, kept, strict=True):
                total += weight * g / len(k)
            if self.step == "matched":
                return effective * total
            return factor * effective * total * (1 / share if self.step == "amplified" else 1.0)
        for weight, g, k, trace in zip(p, sums, kept, traces, strict=True):
            total += weight * g * (1.0 if self.step == "equation" else len(trace) / len(k))
        return total if self.step == "matched" else factor / share * total

    def _move_control_variates(
        self, clients: Sequence[int], traces: list[Floats], kept: list[list[int]]
    ) -> None:
        """Decision 8."""
        changes = np.zeros_like(self.w)
        for i, trace, k in zip(clients, traces, kept, strict=True):
            new = self.own[i] - self.shared + trace[k].mean(0)
            changes += new - self.own[i]
            self.own[i] = new
        self.shared = self.shared + changes / len(self.x)
