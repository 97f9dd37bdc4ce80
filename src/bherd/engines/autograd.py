"""Fast local training of any torch module: parameters and gradients live in flat arrays.

The module's parameters are views of one vector, and before each backward pass their `.grad` are set
to views of one row of the trace, so that autograd writes the raveled gradient where it belongs and
nothing is copied.

A module of which we know that it treats every sample for itself (`separable`) is trained by halves of
a batch, whose gradients add up to the batch's, if its loss is known to be a mean over samples. Two threads
may then share a client's work, and no bit depends on whether they do. Its images are laid out with the
channels last, which makes pooling several times faster.
"""

import copy
from concurrent.futures import Executor
from typing import Any

import torch
from torch import Tensor, nn

from bherd.engines.steps import Stepper
from bherd.loop.client import Work
from bherd.loop.visits import batches
from bherd.stores import Rows
from bherd.tasks.flat import load_buffers, pieces, ravel, ravel_buffers, trainable
from bherd.tasks.losses import is_mean
from bherd.tasks.models import Model

_EACH_FOR_ITSELF = (nn.Conv2d, nn.Linear, nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, nn.Flatten, nn.Tanh, nn.GELU)
_SMALLEST_HALF = 16


def separable(module: nn.Module) -> bool:
    """Whether the output of each sample depends on that sample alone, whatever its memory layout."""
    return type(module) is nn.Sequential and all(type(layer) in _EACH_FOR_ITSELF for layer in module)


def divisible(model: Model) -> bool:
    """Whether the gradient of a batch is the mean of those of its parts."""
    return separable(model.module) and is_mean(model.loss)


class FlatModule:
    """A private copy of a model's module whose parameters are views of `self.flat`, of shape (d,)."""

    def __init__(self, model: Model, flat: Tensor | None = None) -> None:
        self.model = model
        self.module = copy.deepcopy(model.module)
        self.flat = ravel(self.module) if flat is None else flat
        self._separable = separable(self.module)
        self._divisible = divisible(model)
        self._parameters = [p for _, p in trainable(self.module)]
        for p, piece in zip(self._parameters, pieces(self.module, self.flat), strict=True):
            p.data = piece.view_as(p)
        self._weights = [p for p in self._parameters if p.ndim > 1]
        self._twin: FlatModule | None = None

    def load(self, params: Tensor, buffers: Tensor | None) -> None:
        """Move to these parameters and buffers."""
        self.flat.copy_(params)
        load_buffers(self.module, buffers)

    def train(self, work: Work, x: Tensor, y: Tensor, rows: Rows, assistant: Executor | None = None) -> float:
        """Local training from where the module stands; returns the mean of the batch losses.

        Args:
            work: what the client has to do.
            x: its inputs.
            y: its targets.
            rows: where the directions go.
            assistant: does half of every batch, if there is one.
        """
        self.module.train()
        offset, pull = work.terms
        stepper = None if work.optimizer.is_plain() else Stepper(work, self.flat)
        loss = torch.zeros((), dtype=self.flat.dtype, device=self.flat.device)
        for step, (inputs, targets) in enumerate(batches(work.plan, x, y, work.visits)):
            row = rows.row(step)
            loss += self._gradient(inputs, targets, row, assistant)
            if offset is not None:
                row += offset
            if pull:
                row.add_(self.flat - work.params, alpha=pull)
            if stepper is None:
                self.flat.add_(row, alpha=-work.lr)
            else:
                stepper.step(row)
            rows.done(step)
        return float(loss) / work.plan.steps

    def buffers(self) -> Tensor | None:
        """The module's buffers as they are now."""
        return ravel_buffers(self.module)

    def _gradient(self, inputs: Tensor, targets: Tensor, row: Tensor, assistant: Executor | None) -> Tensor:
        """Put the gradient of one batch into `row`, which is zero, and return the batch's loss."""
        count = len(targets)
        half = count // 2
        if not self._divisible or half < _SMALLEST_HALF:
            return self._backward(inputs, targets, row, 1.0)
        halves = inputs[:half], targets[:half], inputs[half:], targets[half:]
        shares = half / count, (count - half) / count
        if assistant is None:
            loss = self._backward(halves[0], halves[1], row, shares[0])
            return loss + self._backward(halves[2], halves[3], row, shares[1], again=True)
        if self._twin is None:
            self._twin = FlatModule(self.model, self.flat)
        other = torch.zeros_like(row)
        second = assistant.submit(self._twin._backward, halves[2], halves[3], other, shares[1], again=True)
        loss = self._backward(halves[0], halves[1], row, shares[0])
        loss = loss + second.result()
        row += other
        return loss

    def _backward(
        self, inputs: Tensor, targets: Tensor, row: Tensor, share: float, again: bool = False
    ) -> Tensor:
        """Add a part's share of the batch's gradient to `row`; return its share of the loss."""
        for p, piece in zip(self._parameters, pieces(self.module, row), strict=True):
            p.grad = piece.view_as(p)
        loss = self.model.loss(self._forward(inputs), targets)
        if share != 1.0:
            loss = share * loss
        if not again:
            loss = loss + self._penalty()
        torch.autograd.backward(loss)
        return loss.detach()

    def _forward(self, x: Tensor) -> Any:
        """The module's outputs, laid out as the samples were given."""
        if not self._separable or x.ndim != 4:
            return self.module(x)
        return self.module(_channels_last(x)).contiguous()

    def _penalty(self) -> Tensor | float:
        if self.model.decay == 0.0:
            return 0.0
        squares = torch.stack([p.square().sum() for p in self._weights])
        return 0.5 * self.model.decay * squares.sum()

    @torch.no_grad()
    def outputs(self, x: Tensor) -> Any:
        """What the module gives out for some samples, as it does when it is used."""
        self.module.eval()
        return self._forward(x)

    @torch.no_grad()
    def loss_and_hits(self, x: Tensor, y: Tensor) -> tuple[float, int]:
        """Summed loss without penalty, and correct predictions, of some samples: for a mean and a count."""
        outputs = self.outputs(x)
        return float(self.model.loss(outputs, y)) * len(y), int(self.model.hits(outputs, y))

    @torch.no_grad()
    def penalty(self) -> float:
        """The penalty at the present parameters."""
        return float(self._penalty())


def _channels_last(x: Tensor) -> Tensor:
    """Images with the channels last.

    With one channel both layouts have the same memory, and torch takes it for the first unless the strides
    say otherwise.
    """
    if x.shape[1] > 1:
        return x.contiguous(memory_format=torch.channels_last)
    count, _, height, width = x.shape
    return x.contiguous().as_strided((count, 1, height, width), (height * width, 1, width, 1))
