"""What every engine offers to the round loop."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from torch import Tensor

from bherd.loop.client import Outcome
from bherd.loop.state import Evaluation, State


class Engine(ABC):
    """Runs clients and evaluates models. Engines differ in speed, never in results."""

    @abstractmethod
    def run_clients(self, state: State, clients: Sequence[int]) -> list[Outcome]:
        """The round after `state` for these clients, in their order; may raise `DivergedError`."""

    @abstractmethod
    def evaluate(self, params: Tensor, buffers: Tensor | None, *, train: bool) -> Evaluation:
        """Loss and accuracy of a model."""

    @abstractmethod
    def close(self) -> None:
        """Give back threads and memory."""
