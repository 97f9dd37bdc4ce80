"""Three lines into a training loop of your own.

collector = Collector(model, alpha=0.5)     # before the local epoch
...
    loss.backward()
    collector.record()                      # after each backward pass
    optimizer.step()
...
update = collector.herd()                   # what to send, and which steps it is made of
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from bherd.errors import InputError
from bherd.method import Indices, Selector
from bherd.selectors.herding import herding
from bherd.tasks.flat import trainable, unravel


class Update(NamedTuple):
    """The gradients that a selector kept."""

    total: Tensor
    """Sum of the kept gradients, g_i, of shape (d,)."""
    kept: Indices
    """Which steps were kept, in order of selection, counted from 0."""
    steps: int
    """How many steps were recorded."""
    named: dict[str, Tensor]
    """`total` by the names of the model's parameters."""


class Collector:
    """Records the gradient of every local step of a model, then selects among them."""

    def __init__(
        self,
        model: nn.Module,
        alpha: float = 0.5,
        *,
        selector: Selector | None = None,
        seed: int = 0,
    ) -> None:
        """Watch `model`; herding with `alpha`, unless another `selector` is given.

        `seed` is for selectors that draw, such as `random_share`.
        """
        self.model = model
        self.selector = herding(alpha) if selector is None else selector
        self._stream = np.random.default_rng(seed)
        self._rows: list[Tensor] = []

    def __len__(self) -> int:
        return len(self._rows)

    def record(self) -> None:
        """Keep a copy of the gradient that `loss.backward()` has just left in the model."""
        parameters = trainable(self.model)
        if all(p.grad is None for _, p in parameters):
            raise InputError("the model has no gradients: call record() after loss.backward()")
        self._rows.append(
            torch.cat(
                [
                    torch.zeros_like(p).reshape(-1) if p.grad is None else p.grad.reshape(-1)
                    for _, p in parameters
                ]
            ).detach()
        )

    def herd(self) -> Update:
        """Select among the recorded gradients, forget them, and return the herded update."""
        if not self._rows:
            raise InputError("nothing was recorded: call record() after each loss.backward()")
        trace = torch.stack(self._rows)
        if not bool(torch.isfinite(trace).all()):
            raise InputError("a recorded gradient is NaN or infinite: the training has diverged")
        self._rows = []
        kept = self.selector.select(trace, self._stream)
        total = trace[torch.from_numpy(kept).to(trace.device)].sum(0)
        return Update(total, kept, len(trace), unravel(self.model, total))
