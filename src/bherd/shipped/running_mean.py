"""A running mean of the models."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bherd.parts.checks import check_fraction
from bherd.parts.part import Tensors
from bherd.shipped.base import Shipped

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class RunningMean(Shipped):
    """A mean of the models w of all rounds that forgets the old ones:

        m <- beta m + (1 - beta) w,    u <- beta u + 1 - beta,    both 0 at first;    shipped: m / u.

    u, which is 1 - beta^t after t rounds, makes the weights sum to one: the first model counts fully.
    Polyak & Juditsky, "Acceleration of Stochastic Approximation by Averaging" (1992), with weights that
    decay.

    Use it where the last model swings from round to round; it looks back over about 1 / (1 - beta) rounds.
    """

    beta: float = 0.9
    """How much of the mean stays when a model is added."""

    def __post_init__(self) -> None:
        check_fraction("beta", self.beta)

    def init(self, params: "Tensor") -> Tensors:
        import torch

        return {"m": torch.zeros_like(params), "u": params.new_zeros(())}

    def update(self, state: Tensors, params: "Tensor") -> Tensors:
        rest = 1 - self.beta
        return {"m": self.beta * state["m"] + rest * params, "u": self.beta * state["u"] + rest}

    def model(self, state: Tensors, params: "Tensor") -> "Tensor":
        return state["m"] / state["u"] if state["u"] > 0 else params
