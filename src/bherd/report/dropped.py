"""Which classes a selection systematically drops, beyond what a random share of the same size would.

A share of the steps leaves some class short in every round, whoever chooses. So each client's counts are held
against random shares: in every round the kept steps are drawn anew among all steps, `DRAWS` times. A class is
dropped where its kept samples fall further below expectation, in standard deviations of a random share, than
the worst of all clients and classes does in all but one in twenty of these draws (Westfall and Young's
correction for looking at many), and where the effect is large.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bherd.report.thin import short
from bherd.statistics import LEVEL

LOW_RATE = 0.8
"""A class is called dropped below this part of the client's usual rate of keeping ..."""
OFTEN = 0.75
"""... if it is below the usual rate in at least this share of the rounds."""
FEWEST_ROUNDS = 10
"""A client that was seen in fewer rounds is not tested."""
DRAWS = 99
_SEED = 1992

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Evidence(NamedTuple):
    """What one client kept, over some rounds."""

    client: int
    kept: npt.NDArray[np.bool_]
    """(rounds, steps)"""
    labels: Counts
    """(rounds or 1, steps, classes): the labels of each batch; one round for all where no order changes."""


@dataclass(frozen=True)
class Dropped:
    """A class that a client's selection systematically leaves out."""

    client: int
    label: int
    rate: float
    """Its rate of being kept over the client's overall rate."""
    rounds_below: float
    """The share of rounds in which it was kept at less than the overall rate."""


class DroppedClasses(NamedTuple):
    """The test of all clients."""

    dropped: list[Dropped]
    by_chance: float
    """How many a random share of the same size would raise, on average."""
    tested: int
    """Clients with enough rounds to be tested."""


class _Looks(NamedTuple):
    """One client's classes under several selections; each of shape (selections, classes)."""

    score: Floats
    """How far above expectation, in standard deviations of a random share; inf where nothing can vary."""
    rate: Floats
    below: Floats

    def short(self, limit: float) -> npt.NDArray[np.bool_]:
        few: npt.NDArray[np.bool_] = (self.score < limit) & (self.rate < LOW_RATE) & (self.below >= OFTEN)
        return few


def dropped(evidence: Sequence[Evidence]) -> DroppedClasses:
    """The classes that are dropped, and how many would be called so under random shares."""
    tested = [one for one in evidence if len(one.kept) >= FEWEST_ROUNDS and one.kept.any()]
    if not tested:
        return DroppedClasses([], 0.0, 0)
    random = np.random.default_rng(_SEED)
    looks = [_looks(one, random) for one in tested]
    worst = np.min([look.score[1:].min(1) for look in looks], axis=0)
    limit = float(np.sort(worst)[round(LEVEL * (DRAWS + 1)) - 1])
    found, by_chance = [], 0
    for one, look in zip(tested, looks, strict=True):
        few = look.short(limit)
        by_chance += int(few[1:].sum())
        for label in np.flatnonzero(few[0]).tolist():
            rate, below = short(float(look.rate[0, label])), short(float(look.below[0, label]))
            found.append(Dropped(one.client, label, rate or 0.0, below or 0.0))
    return DroppedClasses(found, by_chance / DRAWS, len(tested))


def _looks(evidence: Evidence, random: np.random.Generator) -> _Looks:
    """The selection that was made, and after it `DRAWS` random ones of the same size in every round."""
    labels = evidence.labels.astype(np.float64)
    rounds, steps = evidence.kept.shape
    taken = np.array([_taken(evidence.kept[r], labels[r % len(labels)], random) for r in range(rounds)])
    visited = np.broadcast_to(labels.sum(1), (rounds, labels.shape[2]))
    count = evidence.kept.sum(1, keepdims=True)
    squares = ((labels - labels.mean(1, keepdims=True)) ** 2).sum(1)
    variance = (count * (steps - count) / (steps * max(1, steps - 1)) * squares).sum(0)
    excess = taken.sum(0) - (count / steps * visited).sum(0)
    score = np.divide(excess, np.sqrt(variance), out=np.full_like(excess, np.inf), where=variance > 1e-9)
    held = visited > 0
    seen = np.maximum(held.sum(0), 1)
    rate = taken.sum(0) / np.maximum(visited.sum(0), 1) / (count.sum() / (rounds * steps))
    usual = (taken.sum(2) / visited.sum(1)[:, None])[:, :, None]
    below = (held[:, None, :] & (taken < usual * visited[:, None, :])).sum(0) / seen
    return _Looks(score, rate, below)


def _taken(kept: npt.NDArray[np.bool_], labels: Floats, random: np.random.Generator) -> Floats:
    """(selections, classes): the labels of the kept steps of one round, as they were and drawn anew."""
    selections = np.repeat(kept[None].astype(np.float64), 1 + DRAWS, axis=0)
    random.permuted(selections[1:], axis=1, out=selections[1:])
    taken: Floats = selections @ labels
    return taken
