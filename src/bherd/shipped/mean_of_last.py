"""The mean of the last models."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from bherd.parts.checks import check_count
from bherd.parts.part import Tensors
from bherd.shipped.base import Shipped

if TYPE_CHECKING:
    from torch import Tensor


@final
@dataclass(frozen=True)
class MeanOfLast(Shipped):
    """The plain mean of the models of the last k rounds, of fewer while there are fewer.

    Izmailov et al., "Averaging Weights Leads to Wider Optima and Better Generalization" (2018), over
    rounds; with k = 2 what Jhunjhunwala et al., "FedExP" (2023), evaluate.

    Use it at the end of a run whose last models swing about an optimum. It stores k models.
    """

    k: int = 5
    """How many models are averaged."""

    def __post_init__(self) -> None:
        check_count("k", self.k)

    def init(self, params: "Tensor") -> Tensors:
        return {"models": params.new_zeros((0, *params.shape))}

    def update(self, state: Tensors, params: "Tensor") -> Tensors:
        import torch

        models = state["models"]
        return {"models": torch.cat([models[max(0, len(models) - self.k + 1) :], params[None]])}

    def model(self, state: Tensors, params: "Tensor") -> "Tensor":
        return state["models"].mean(dim=0) if len(state["models"]) else params
