"""Ask clients at random, each round anew."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.participation.base import Participation
from bherd.parts.part import Tensors

if TYPE_CHECKING:
    import numpy as np

    from bherd.parts.records import Indices


@dataclass(frozen=True)
class Uniform(Participation):
    """Asks `count` clients drawn uniformly without repetition, each round independent of all others.

    McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data" (2017).
    The usual draw, and the one that privacy accounts assume. Where all are asked nothing is drawn.
    """

    def choose(
        self, state: Tensors, round: int, clients: int, count: int, stream: "np.random.Generator"
    ) -> tuple["Indices", Tensors]:
        import numpy as np

        del round
        if count == clients:
            return np.arange(clients, dtype=np.int64), state
        return np.sort(stream.choice(clients, count, replace=False, shuffle=False)), state
