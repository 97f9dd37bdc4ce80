"""Keep every gradient: what FedAvg, FedNova and SCAFFOLD do by themselves."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.records import Kept
from bherd.selectors.base import Selector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class Everything(Selector):
    """Keeps all τ steps, g_i = Σ_t g_t, so that the share is 1.

    McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data" (2017).
    Use it for the plain baselines; with it every server rule is the one of its own paper. Engines sum
    the steps as they come and store no trace.
    """

    keeps_all: ClassVar[bool] = True
    scales_with_epochs: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def nominal_share(self) -> float:
        return 1.0

    def count(self, steps: int) -> int:
        return steps

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        import numpy as np

        del stream
        return Kept(np.arange(len(trace), dtype=np.int64))
