"""Send a few bits per number, without bias."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.parts.checks import check
from bherd.parts.part import Tensors
from bherd.parts.records import Sent
from bherd.transforms.base import Transform

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


@dataclass(frozen=True)
class Quantize(Transform):
    """Sends each number as one of few levels in [-m, m], m = max |u_j|, drawn so that the mean is right.

    With b = `bits`, L = max(1, 2^b - 2) equal intervals and ξ uniform in [0, 1),

        q_j = floor(L (u_j / m + 1) / 2 + ξ_j),   sent: m (2 q_j / L - 1),   E[sent] = u.

    The levels include 0 where b > 1, so that a zero stays one; b = 1 sends ±m. On the way are b bits per
    number and m as a float32, rounded up. Alistarh et al., "QSGD: Communication-Efficient SGD via Gradient
    Quantization and Encoding" (2017), with the largest entry in place of the norm as their experiments
    have it, and without their variable-length code. Use it to study what fewer bits cost.
    """

    bits: int = 8

    def __post_init__(self) -> None:
        check(1 <= self.bits <= 16, "bits", self.bits, "must be a whole number from 1 to 16", "8")

    def send(self, state: Tensors, update: "Tensor", client: int, stream: "np.random.Generator") -> Sent:
        import torch

        del client
        size = float(self.bits * update.numel() + 32)
        largest = _as_float32(float(update.abs().max()))
        if largest == 0:
            return Sent(update, state, size)
        intervals = max(1, 2**self.bits - 2)
        draw = torch.from_numpy(stream.random(update.numel())).to(update.device)
        level = ((update.to(torch.float64) / largest + 1) * (intervals / 2) + draw).floor()
        return Sent((largest * (2 * level / intervals - 1)).to(update), state, size)


def _as_float32(number: float) -> float:
    """The smallest float32 that is not below a number of zero or more."""
    import numpy as np

    near = np.float32(number)
    return float(near if float(near) >= number else np.nextafter(near, np.float32(np.inf)))
