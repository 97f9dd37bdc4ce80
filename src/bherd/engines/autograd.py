"""Fast local training of any torch module: parameters and gradients live in flat arrays.

The module's parameters are views of one vector, and before each backward pass their `.grad` are set
to views of one row of the trace, so that autograd writes the raveled gradient where it belongs and
nothing is copied.
"""

import copy

import numpy as np
import torch
from torch import Tensor

from bherd.client import Training
from bherd.tasks.flat import load_buffers, pieces, ravel, ravel_buffers, trainable
from bherd.tasks.models import Model
from bherd.tasks.task import Plan, batches


class FlatModule:
    """A private copy of a model's module whose parameters are views of `self.flat`, of shape (d,)."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.module = copy.deepcopy(model.module)
        self.flat = ravel(self.module)
        self._parameters = [p for _, p in trainable(self.module)]
        for p, piece in zip(self._parameters, pieces(self.module, self.flat), strict=True):
            p.data = piece.view_as(p)
        self._weights = [p for p in self._parameters if p.ndim > 1]

    def load(self, params: Tensor, buffers: Tensor | None) -> None:
        """Move to these parameters and buffers."""
        self.flat.copy_(params)
        load_buffers(self.module, buffers)

    def train(
        self,
        plan: Plan,
        x: Tensor,
        y: Tensor,
        shuffle: np.random.Generator | None,
        offset: Tensor | None,
        lr: float,
        keep_trace: bool,
    ) -> Training:
        """Local SGD from where the module stands."""
        self.module.train()
        rows = self.flat.new_zeros((plan.steps if keep_trace else 1, len(self.flat)))
        total = torch.zeros_like(self.flat)
        loss = torch.zeros((), dtype=self.flat.dtype, device=self.flat.device)
        for step, (inputs, targets) in enumerate(batches(plan, x, y, shuffle)):
            row = rows[step if keep_trace else 0]
            if not keep_trace:
                row.zero_()
            loss += self._backward(inputs, targets, row)
            if offset is not None:
                row += offset
            if not keep_trace:
                total += row
            self.flat.add_(row, alpha=-lr)
        gradients = rows if keep_trace else total
        return Training(gradients, plan.steps, float(loss) / plan.steps, ravel_buffers(self.module))

    def _backward(self, inputs: Tensor, targets: Tensor, row: Tensor) -> Tensor:
        """Put the gradient of one batch into `row`, which is zero, and return the batch's loss."""
        for p, piece in zip(self._parameters, pieces(self.module, row), strict=True):
            p.grad = piece.view_as(p)
        loss = self.model.loss(self.module(inputs), targets) + self._penalty()
        torch.autograd.backward(loss)
        return loss.detach()

    def _penalty(self) -> Tensor | float:
        if self.model.decay == 0.0:
            return 0.0
        squares = torch.stack([p.square().sum() for p in self._weights])
        return 0.5 * self.model.decay * squares.sum()

    @torch.no_grad()
    def loss_and_hits(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """Summed loss without penalty, and correct predictions, of one chunk of samples."""
        self.module.eval()
        outputs = self.module(x)
        loss = float(self.model.loss(outputs, y)) * len(y)
        return loss, int(self.model.hits(outputs, y))

    @torch.no_grad()
    def penalty(self) -> float:
        """The penalty at the present parameters."""
        return float(self._penalty())
