"""What is measured of one loss curve: its mean height, where it ends, how much it oscillates."""

import numpy as np

from bherd.statistics import Floats

SETTLED = 1.1
"""A run has settled that ends no higher than so many times its lowest loss."""
CALM = 1e-4
"""Oscillation, in parts of the height per round, below which a curve is calm."""


def area(rounds: Floats, values: Floats) -> float:
    """Area under a curve by trapezoids, divided by its length in rounds: the mean height."""
    if len(values) == 1:
        return float(values[0])
    return float(np.trapezoid(values, rounds) / (rounds[-1] - rounds[0]))


def tail(values: Floats) -> Floats:
    """The last tenth of a series, at least its last value."""
    return values[-max(1, len(values) // 10) :]


def settled(diverged_at: int, tail_loss: float, best_loss: float) -> bool:
    """Whether a run came to its end, and there no higher than `SETTLED` times the lowest loss it had."""
    return diverged_at == 0 and tail_loss <= SETTLED * best_loss


def oscillation(values: Floats) -> float:
    """How much a curve goes back and forth in its second half; 0 for one that only falls or only rises.

    Total variation less net change, over the number of steps and the mean height.
    """
    late = values[len(values) // 2 :]
    if len(late) < 2:
        return 0.0
    changes = np.diff(late)
    spare = float(np.abs(changes).sum() - abs(changes.sum()))
    return spare / len(changes) / float(np.abs(late).mean())
