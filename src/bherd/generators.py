"""The random generators that a whole process shares: torch's, numpy's and Python's own.

bherd draws from its own streams alone, but a model may draw from these, in Dropout or in an augmentation.
So that a run repeats exactly, they are seeded for such a model from the run's seed, and given back to the
caller as they were.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor

from bherd.streams import stream, torch_seed

Answer = TypeVar("Answer")


@contextmanager
def preserved() -> Iterator[None]:
    """Whatever is drawn inside, the generators are afterwards as they were before."""
    theirs, pythons = np.random.get_state(), random.getstate()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        np.random.set_state(theirs)
        random.setstate(pythons)


@contextmanager
def seeded(seed: int, purpose: str, round: int = 0, client: int = 0) -> Iterator[None]:
    """All generators seeded for one purpose, round and client of a run; afterwards as they were before."""
    draw = stream(seed, f"{purpose}, not by torch", round, client)
    with preserved():
        torch.manual_seed(torch_seed(seed, purpose, round, client))
        np.random.seed(draw.integers(0, 2**32, 8, dtype=np.uint32))
        random.seed(int(draw.integers(0, 2**63)))
        yield


class Watch:
    """The generators as they are now, to see later whether somebody has drawn."""

    def __init__(self) -> None:
        self._before = _states()

    def drew(self) -> bool:
        """Whether a number has been drawn since."""
        before, now = self._before, _states()
        return not (
            all(torch.equal(one, other) for one, other in zip(before.torch, now.torch, strict=True))
            and np.array_equal(before.numpy[1], now.numpy[1])
            and before.numpy[2:] == now.numpy[2:]
            and before.python == now.python
        )

    def put_back(self) -> None:
        """Undo what has been drawn since."""
        torch.set_rng_state(self._before.torch[0])
        torch.cuda.set_rng_state_all(self._before.torch[1:])
        np.random.set_state(self._before.numpy)
        random.setstate(self._before.python)


class _States(NamedTuple):
    torch: list[Tensor]
    """Of the CPU, then of each GPU."""
    numpy: Any
    python: Any


def _states() -> _States:
    torchs = [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
    return _States(torchs, np.random.get_state(), random.getstate())


class Repeatable:
    """Work that must give the same when it is done again, although a model in it may draw.

    Where `draws` is true, the work itself seeds the generators and stays in one thread, since threads
    would take each other's numbers. Where it is false and somebody drew after all, it becomes true and
    the work is done again.
    """

    def __init__(self, draws: bool) -> None:
        self.draws = draws

    def do(self, work: Callable[[], Answer]) -> Answer:
        """What the work gives."""
        if self.draws:
            return work()
        watch = Watch()
        try:
            answer = work()
        except Exception:
            if not watch.drew():
                raise
        else:
            if not watch.drew():
                return answer
        watch.put_back()
        self.draws = True
        return work()
