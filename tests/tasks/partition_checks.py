"""What the tests of partitions look at."""

from itertools import pairwise

import numpy as np

from bherd.tasks.partitions import Indices

DIGITS = np.tile(np.arange(10), 12)
"""120 samples, 12 of each digit: sample i has the label i % 10."""


def held_labels(parts: list[Indices], labels: np.ndarray = DIGITS) -> list[set[int]]:
    return [set(labels[part].tolist()) for part in parts]


def sizes(parts: list[Indices]) -> list[int]:
    return [part.size for part in parts]


def assert_fair(parts: list[Indices], samples: int, clients: int) -> None:
    """What every partition keeps to: each sample once, nobody empty, ascending int64."""
    assert len(parts) == clients
    assert sorted(np.concatenate(parts).tolist()) == list(range(samples))
    for part in parts:
        assert part.dtype == np.int64
        assert part.ndim == 1
        assert part.size >= 1
        assert all(before < after for before, after in pairwise(part.tolist()))


def same(one: list[Indices], other: list[Indices]) -> bool:
    return len(one) == len(other) and all(map(np.array_equal, one, other))
