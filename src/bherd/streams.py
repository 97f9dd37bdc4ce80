"""Random streams keyed by what they are for.

Every draw of a run comes from a stream named by (seed, purpose, round, client). No stream is shared,
so a draw depends neither on the order in which clients are visited, nor on the number of workers, nor
on how often the run was stopped and resumed.
"""

import zlib

import numpy as np


def _sequence(seed: int, purpose: str, round: int, client: int) -> np.random.SeedSequence:
    return np.random.SeedSequence((seed, zlib.crc32(purpose.encode()), round, client))


def stream(seed: int, purpose: str, round: int = 0, client: int = 0) -> np.random.Generator:
    """The generator for one purpose, round and client of the run with this seed."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, purpose, round, client)))


def torch_seed(seed: int, purpose: str, round: int = 0, client: int = 0) -> int:
    """A seed for a `torch.Generator` from the same key, for what only torch can draw."""
    return int(_sequence(seed, purpose, round, client).generate_state(1, np.uint64)[0] >> 1)
