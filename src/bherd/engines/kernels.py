"""The inner loops that are worth compiling, as plain functions over numpy arrays.

Each runs as it stands, slowly; `load()` gives the same functions through numba, which release the
interpreter lock and read pixels as bytes. Sums inside a row may be taken in any order (that is what
lets them use vector instructions), so results agree with numpy's up to rounding. They are the same
from call to call, on whatever thread.

A row's outputs, its derivative and its share of the gradient are computed while it is in the nearest
cache; the rows after it are asked for meanwhile.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bherd.compiled import fast
from bherd.engines.prefetch import LINE, prefetch, register

Array = npt.NDArray[Any]
Train = Callable[[Array, Array, Array, int, Array, Any, Any, Any, Array, Any, Array, Array, bool], float]
Measure = Callable[[Array, Array, Array, Any], tuple[float, int]]
SumKept = Callable[[Array, Array, Array], tuple[float, float]]

AHEAD = 4
"""Rows by which memory is asked for before its turn."""


class Kernels(NamedTuple):
    """The compiled functions."""

    train_hinge: Train
    train_softmax: Train
    measure_hinge: Measure
    measure_softmax: Measure
    sum_kept: SumKept


def load() -> Kernels:
    """The kernels, compiled."""
    register()
    return Kernels(
        fast(train_hinge, reordered_sums=True),
        fast(train_softmax, reordered_sums=True),
        fast(measure_hinge, reordered_sums=True),
        fast(measure_softmax, reordered_sums=True),
        fast(sum_kept, reordered_sums=True),
    )


def train_hinge(
    x: Array,
    y: Array,
    visits: Array,
    batch: int,
    w: Array,
    scale: Any,
    decay: Any,
    lr: Any,
    offset: Array,
    pull: Any,
    start: Array,
    rows: Array,
    keep_trace: bool,
) -> float:
    """Local SGD of the squared-hinge SVM; returns the sum of the batch losses.

    `x` times `scale` are the inputs, `visits` the samples of all steps, `w` the weights and the bias,
    moved in place. Gradients, each plus `offset` + `pull` (w - `start`), go to their row of `rows`, or are
    summed in its first row.
    """
    features = x.shape[1]
    number = w.dtype.type
    share = number(1) / number(batch)
    gradient = np.empty(features, w.dtype)
    slopes = np.zeros(batch + 3, w.dtype)
    span = LINE // x.itemsize
    loss = 0.0
    for step in range(len(visits) // batch):
        gradient[:] = 0
        bias_gradient = number(0)
        squares = number(0)
        first = step * batch
        for visit in range(batch):
            if first + visit + AHEAD < len(visits):
                for j in range(0, features, span):
                    prefetch(x, visits[first + visit + AHEAD], j)
            sample = visits[first + visit]
            product = number(0)
            for j in range(features):
                product += number(x[sample, j]) * w[j]
            slack = number(1) - y[sample] * (product * scale + w[features])
            if slack <= 0:  # NaN goes on, to be noticed
                slack = number(0)
            squares += slack * slack
            derivative = -y[sample] * slack * share
            bias_gradient += derivative
            slopes[visit] = derivative * scale
            if visit % 4 == 3 or visit == batch - 1:
                # Four rows at a time, so that the gradient is read and written a quarter as often; what
                # is missing in the last four is the last row again, times zero.
                last = first + batch - 1
                k = visit - visit % 4
                a = visits[first + k]
                b = visits[min(first + k + 1, last)]
                c = visits[min(first + k + 2, last)]
                d = visits[min(first + k + 3, last)]
                p, q, r, s = slopes[k], slopes[k + 1], slopes[k + 2], slopes[k + 3]
                for j in range(features):
                    gradient[j] += (number(x[a, j]) * p + number(x[b, j]) * q) + (
                        number(x[c, j]) * r + number(x[d, j]) * s
                    )
        row = rows[step] if keep_trace else rows[0]
        norm = number(0)
        for j in range(features):
            norm += w[j] * w[j]
            corrected = gradient[j] + decay * w[j] + offset[j] + pull * (w[j] - start[j])
            row[j] = corrected if keep_trace else row[j] + corrected
            w[j] -= lr * corrected
        corrected = bias_gradient + offset[features] + pull * (w[features] - start[features])
        row[features] = corrected if keep_trace else row[features] + corrected
        w[features] -= lr * corrected
        loss += 0.5 * (float(squares) / batch + float(decay) * float(norm))
    return loss


def train_softmax(
    x: Array,
    y: Array,
    visits: Array,
    batch: int,
    w: Array,
    scale: Any,
    decay: Any,
    lr: Any,
    offset: Array,
    pull: Any,
    start: Array,
    rows: Array,
    keep_trace: bool,
) -> float:
    """The same for multinomial logistic regression; `w` holds the weights of each class, then biases."""
    features = x.shape[1]
    number = w.dtype.type
    classes = len(w) // (features + 1)
    weights = w[: classes * features].reshape(classes, features)
    bias = w[classes * features :]
    share = number(1) / number(batch)
    gradient = np.empty(len(w), w.dtype)
    slopes = gradient[: classes * features].reshape(classes, features)
    inputs = np.empty(features, w.dtype)
    outputs = np.empty(classes, w.dtype)
    loss = 0.0
    for step in range(len(visits) // batch):
        gradient[:] = 0
        batch_loss = 0.0
        for visit in range(step * batch, (step + 1) * batch):
            sample = visits[visit]
            for j in range(features):
                inputs[j] = number(x[sample, j]) * scale
            for k in range(classes):
                product = bias[k]
                for j in range(features):
                    product += inputs[j] * weights[k, j]
                outputs[k] = product
            largest = outputs.max()
            picked = outputs[y[sample]] - largest
            total = number(0)
            for k in range(classes):
                outputs[k] = np.exp(outputs[k] - largest)
                total += outputs[k]
            batch_loss += np.log(total) - picked
            for k in range(classes):
                derivative = (outputs[k] / total - (number(1) if k == y[sample] else number(0))) * share
                gradient[classes * features + k] += derivative
                for j in range(features):
                    slopes[k, j] += inputs[j] * derivative
        row = rows[step] if keep_trace else rows[0]
        norm = number(0)
        for j in range(len(w)):
            penalty = decay * w[j] if j < classes * features else number(0)
            norm += penalty * w[j]
            corrected = gradient[j] + penalty + offset[j] + pull * (w[j] - start[j])
            row[j] = corrected if keep_trace else row[j] + corrected
            w[j] -= lr * corrected
        loss += batch_loss / batch + 0.5 * float(norm)
    return loss


def measure_hinge(x: Array, y: Array, w: Array, scale: Any) -> tuple[float, int]:
    """Summed loss without penalty, and correct signs, of some samples."""
    features = x.shape[1]
    number = w.dtype.type
    loss = 0.0
    hits = 0
    span = LINE // x.itemsize
    for sample in range(len(x)):
        if sample + AHEAD < len(x):
            for j in range(0, features, span):
                prefetch(x, sample + AHEAD, j)
        product = number(0)
        for j in range(features):
            product += number(x[sample, j]) * w[j]
        output = product * scale + w[features]
        slack = number(1) - y[sample] * output
        if not slack <= 0:
            loss += 0.5 * float(slack * slack)
        hits += (output > 0) == (y[sample] > 0)
    return loss, hits


def measure_softmax(x: Array, y: Array, w: Array, scale: Any) -> tuple[float, int]:
    """Summed cross entropy and correct classes of some samples."""
    features = x.shape[1]
    number = w.dtype.type
    classes = len(w) // (features + 1)
    weights = w[: classes * features].reshape(classes, features)
    inputs = np.empty(features, w.dtype)
    outputs = np.empty(classes, w.dtype)
    loss = 0.0
    hits = 0
    for sample in range(len(x)):
        for j in range(features):
            inputs[j] = number(x[sample, j]) * scale
        for k in range(classes):
            product = w[classes * features + k]
            for j in range(features):
                product += inputs[j] * weights[k, j]
            outputs[k] = product
        best = outputs.argmax()
        total = number(0)
        for k in range(classes):
            total += np.exp(outputs[k] - outputs[best])
        loss += np.log(total) - (outputs[y[sample]] - outputs[best])
        hits += best == y[sample]
    return loss, hits


def sum_kept(trace: Array, kept: Array, total: Array) -> tuple[float, float]:
    """Write the sum of the kept rows into `total`.

    Returns ||mean of the kept rows - mean of all||, and the sum of all squared distances from that mean.
    """
    steps, width = trace.shape
    number = trace.dtype.type
    rest = np.zeros(width, trace.dtype)
    is_kept = np.zeros(steps, np.bool_)
    for i in kept:
        is_kept[i] = True
    total[:] = 0
    spread = 0.0
    for i in range(steps):
        into = total if is_kept[i] else rest
        norm = number(0)
        for j in range(width):
            value = trace[i, j]
            into[j] += value
            norm += value * value
        spread += float(norm)
    share, part = number(1) / number(steps), number(1) / number(len(kept))
    square, mean_square = 0.0, 0.0
    for j in range(width):
        mean = (total[j] + rest[j]) * share
        difference = float(total[j] * part - mean)
        square += difference * difference
        mean_square += float(mean) * float(mean)
    return math.sqrt(square), spread - steps * mean_square
