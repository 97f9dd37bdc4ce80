"""Stochastic gradient descent, with momentum, weight decay and clipping."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bherd.optimizers.base import LocalOptimizer
from bherd.parts.checks import check, check_fraction, check_not_negative
from bherd.parts.part import Tensors

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class LocalSgd(LocalOptimizer):
    """Plain SGD, or with clipping, weight decay and momentum, each off by default.

    The direction d of a step w <- w - lr d comes from the corrected gradient g, in this order:

        clip:          g <- g min(1, clip / (||g|| + 10^-6))      as torch.nn.utils.clip_grad_norm_
        weight_decay:  g <- g + weight_decay w                    as torch.optim.SGD, as is what follows
        momentum:      v <- momentum v + g,    v = 0 at the start of the client's round
                       d = v, or g + momentum v with nesterov

    Robbins & Monro, "A Stochastic Approximation Method" (1951); Sutskever et al., "On the importance of
    initialization and momentum in deep learning" (2013), for both kinds of momentum.

    Use it plain, as it is by default, where the methods of papers are compared. Clipping helps where single
    batches have huge gradients, momentum where clients take many steps per round.
    """

    momentum: float = 0.0
    """How much of the last step goes on."""
    nesterov: bool = False
    """Whether to look ahead along the momentum."""
    weight_decay: float = 0.0
    """The pull to zero."""
    clip: float = 0.0
    """The largest norm of a gradient; 0: any."""

    def __post_init__(self) -> None:
        check_fraction("momentum", self.momentum)
        check_not_negative("weight_decay", self.weight_decay)
        check_not_negative("clip", self.clip)
        good = self.momentum > 0 or not self.nesterov
        check(good, "nesterov", self.nesterov, "needs a momentum above 0", "momentum=0.9")

    def is_plain(self) -> bool:
        return self.momentum == self.weight_decay == self.clip == 0

    def init(self, params: "Tensor") -> Tensors:
        import torch

        return {"v": torch.zeros_like(params)} if self.momentum else {}

    def direction(self, state: Tensors, gradient: "Tensor", w: "Tensor") -> tuple["Tensor", Tensors]:
        if self.clip:
            gradient = gradient * (self.clip / (gradient.norm() + 1e-6)).clamp(max=1.0)
        if self.weight_decay:
            gradient = gradient + self.weight_decay * w
        if not self.momentum:
            return gradient, state
        v = self.momentum * state["v"] + gradient
        return (gradient + self.momentum * v if self.nesterov else v), {"v": v}
