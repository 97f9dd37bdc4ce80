"""Keep the first steps: the control that stops early."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.records import Kept
from bherd.selectors.base import ShareSelector

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class FirstSteps(ShareSelector):
    """Keeps the first k = max(1, floor(α τ + 1/2)) local steps, in order.

    A control: early steps are nearer to the server's model and drift less. Beside FedAvg with α times the
    local epochs it is the same sum of gradients, made longer by the server; a selector that does no better
    than this one has found nothing but the beginning of the round.
    """

    draws: ClassVar[bool] = False

    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        import numpy as np

        del stream
        return Kept(np.arange(self.count(len(trace)), dtype=np.int64))
