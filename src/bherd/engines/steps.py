"""One local step of an optimizer that is not plain SGD, for every fast engine."""

from torch import Tensor

from bherd.loop.client import Work
from bherd.parts.part import Tensors


class Stepper:
    """Turns corrected gradients into directions, step by step, and moves the parameters."""

    def __init__(self, work: Work, w: Tensor) -> None:
        self._optimizer, self._lr, self._w = work.optimizer, work.lr, w
        self._memory: Tensors = work.optimizer.init(work.params)

    def step(self, row: Tensor) -> None:
        """`row` holds the corrected gradient and holds the direction afterwards; `w` has moved by it."""
        direction, self._memory = self._optimizer.direction(self._memory, row, self._w)
        if direction is not row:
            row.copy_(direction)
        self._w.add_(row, alpha=-self._lr)
