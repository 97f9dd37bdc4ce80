"""What passes between the loop and the parts. Imports neither torch nor numpy.

Parameters, gradients and updates are flat torch tensors of shape (d,), all of one dtype and device; the
trace of a client's local steps has shape (steps, d).
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    from bherd.indices import Indices as Indices
    from bherd.parts.part import Tensors

StepLength = Literal["equation", "amplified", "matched"]
STEP_LENGTHS: tuple[StepLength, ...] = ("equation", "amplified", "matched")


class Plan(NamedTuple):
    """The local steps of one client: how many, of which size, and how many make an epoch."""

    steps: int
    batch: int
    per_epoch: int


class Terms(NamedTuple):
    """What a correction does to every gradient g of a round: g + offset + pull (w - w_start)."""

    offset: "Tensor | None" = None
    pull: float = 0.0


class Kept(NamedTuple):
    """Which local steps count, in order of selection, and with which weights; None: each counts once."""

    indices: "Indices"
    weights: "npt.NDArray[np.float64] | None" = None


class Done(NamedTuple):
    """What a correction may know of a client's finished round."""

    kept_mean: "Tensor"
    """The mean of the kept directions."""
    steps: int
    lr: float
    """The local learning rate."""

    @property
    def moved(self) -> "Tensor":
        """The displacement of the local model, as the kept steps tell it: -lr steps kept_mean.

        It is w_end - w_start where everything is kept.
        """
        return -self.lr * self.steps * self.kept_mean


class Sent(NamedTuple):
    """An update as it leaves a client."""

    update: "Tensor"
    state: "Tensors"
    bits: float
    """The size of the update on its way to the server."""


class Report(NamedTuple):
    """What one client sends to the server at the end of a round."""

    client: int
    weight: float
    """The number of the client's samples; the server turns weights into shares p_i."""
    steps: int
    """Local steps taken, tau_i."""
    kept: int
    """Steps kept, k_i."""
    update: "Tensor"
    """The sum of the kept directions, g_i, as the transform sends it."""
    kept_weight: float = 0.0
    """What the kept steps count together: k_i, or the sum of the selector's weights."""
    message: "Tensors" = MappingProxyType({})
    """What the correction tells the server."""
    buffers: "Tensor | None" = None
    """The model's buffers after local training (BatchNorm statistics), if it has any."""
    bits: float = 0.0
    """The size of the update on its way, in bits."""

    @property
    def counted(self) -> float:
        """The divisor that makes the update a mean: k_i, or the sum of the weights."""
        return self.kept_weight or self.kept


class Update(NamedTuple):
    """One client's update as an aggregation sees it."""

    vector: "Tensor"
    """g_i as it arrived."""
    share: float
    """p_i: the client's share of the samples of this round's clients."""
    scale: float
    """s_i: s_i g_i is what this client alone would contribute."""
    weight: float
    """p_i s_i: the factor of g_i in a weighted average."""


class Step(NamedTuple):
    """What the server's optimizer is given."""

    direction: "Tensor"
    """In units of the local learning rate: plain FedAvg is params - local_lr * direction."""
    local_lr: float
    mean_square: Callable[[], float]
    """The weighted mean of the clients' squared norms, in the units of `direction`; computed when asked."""
