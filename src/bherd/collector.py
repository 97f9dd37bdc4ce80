"""Two lines around a training loop of your own; nothing inside it.

collector = Collector(model, optimizer, alpha=0.5)     # before the local epoch
...                                                    # train as you do, with any torch optimizer
update = collector.herd()                              # what to send, and which steps it is made of

A step is what `optimizer.step()` moved the model by, divided by the learning rate: the gradient for
plain SGD, and what momentum, Adam, weight decay, clipping or accumulation made of it otherwise. So
rate x the sum of all steps is the way from the first model of the round to the last.
"""

import weakref
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bherd.errors import InputError
from bherd.indices import Indices
from bherd.loop.kept import checked, sum_kept
from bherd.parts.part import at_round
from bherd.selectors.base import Selector
from bherd.selectors.herding import Herding
from bherd.tasks.flat import trainable, unravel


class HerdedUpdate(NamedTuple):
    """The local steps that a selector kept."""

    total: Tensor
    """Sum of the kept steps, g_i, of shape (d,): the model moved by `rate` times as much."""
    kept: Indices
    """Which steps were kept, in order of selection, counted from 0."""
    steps: int
    """How many steps were recorded."""
    named: dict[str, Tensor]
    """`total` by the names of the model's parameters."""
    rate: float
    """The largest learning rate that the optimizer had in the round; 1 where it names none."""
    start: Tensor
    """The parameters before the first step, of shape (d,)."""
    distance: float
    """||mean of the kept steps - mean of all||."""
    random_distance: float
    """The same, root mean square, over every choice of as many steps."""
    counted: float
    """What the kept steps count together: how many they are, or the sum of the selector's weights."""


@dataclass
class _Round:
    """The steps of one round, as far as they have been taken."""

    parameters: list[tuple[str, nn.Parameter]]
    start: Tensor
    last: Tensor
    """The parameters when they were last looked at."""
    behind: Tensor
    """What they moved by between two steps."""
    rate: float = 0.0
    moves: list[Tensor] = field(default_factory=list)

    def look(self) -> Tensor:
        """What the parameters have moved by since they were last looked at."""
        now = _flat(self.parameters).to(self.last.device)
        moved, self.last = self.last - now, now
        return moved


class _Recorder:
    """What the optimizer calls before and after each of its steps."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.round: _Round | None = None

    def before(self, optimizer: Optimizer, *_: object) -> None:
        """The first step of a round begins it."""
        if self.round is None:
            parameters = trainable(self.model)
            start = _flat(parameters)
            self.round = _Round(parameters, start, start, torch.zeros_like(start))
        self.round.behind += self.round.look()
        rates = [float(group.get("lr") or 0.0) for group in optimizer.param_groups]
        self.round.rate = max(self.round.rate, *rates)

    def after(self, optimizer: Optimizer, *_: object) -> None:
        """What the model has moved by is a step.

        Where gradients have overflowed, a GradScaler calls a fused optimizer, which then does nothing,
        and no other: that is no step.
        """
        assert self.round is not None, "before comes first"
        overflow = getattr(optimizer, "found_inf", None)
        if overflow is None or not bool(overflow):
            self.round.moves.append(self.round.look())


class Collector:
    """Records every step that an optimizer takes with a model, then selects among them."""

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer,
        alpha: float = 0.5,
        *,
        selector: Selector | None = None,
        seed: int = 0,
    ) -> None:
        """Record the steps of `optimizer` from now on, until the collector is no longer referred to.

        Args:
            model: what is trained; its trainable parameters are recorded, its buffers are not.
            optimizer: any torch optimizer over the model's parameters.
            alpha: the share of the steps that herding keeps, in (0, 1].
            selector: another selector, instead of herding with `alpha`.
            seed: for selectors that draw, such as `RandomShare`.

        Raises:
            InputError: `optimizer` is no torch optimizer, or has none of the model's parameters; or a number
                of the selector is a schedule over rounds.
        """
        if not isinstance(optimizer, Optimizer):
            raise InputError(
                f"optimizer = {type(optimizer).__name__}: must be a torch.optim.Optimizer. "
                "Try torch.optim.SGD(model.parameters(), lr=0.1)."
            )
        own = {id(parameter) for _, parameter in trainable(model)}
        if not any(id(p) in own for group in optimizer.param_groups for p in group["params"]):
            raise InputError(
                "the optimizer has none of the model's trainable parameters: must have some. "
                "Make it from model.parameters()."
            )
        self.model = model
        self.selector = Herding(alpha) if selector is None else selector
        if at_round(self.selector, 2) is not self.selector:
            raise InputError(
                f"selector = {self.selector}: must be of one round, which a collector does not count. "
                "Try method.at(round).selector."
            )
        self._stream = np.random.default_rng(seed)
        self._recorder = recorder = _Recorder(model)
        for handle in (
            optimizer.register_step_pre_hook(recorder.before),
            optimizer.register_step_post_hook(recorder.after),
        ):
            weakref.finalize(self, handle.remove)

    def __len__(self) -> int:
        round = self._recorder.round
        return 0 if round is None else len(round.moves)

    def herd(self) -> HerdedUpdate:
        """Select among the recorded steps, forget them, and return the herded update.

        Raises:
            InputError: nothing was recorded, training diverged, or something else than the optimizer
                moved the model, so that the recorded steps do not lead from its start to its end.
        """
        round, self._recorder.round = self._recorder.round, None
        if round is None or not round.moves:
            raise InputError(
                "no step was recorded: make the collector before the loop, with the optimizer that steps"
            )
        trace = torch.stack(round.moves)
        if not bool(torch.isfinite(trace).all()):
            raise InputError("a recorded step is NaN or infinite: the training has diverged")
        round.behind += round.look()
        _check_complete(round, self.model)
        rate = round.rate or 1.0
        trace.div_(rate)
        kept = checked(self.selector, self.selector.select(trace, self._stream), len(trace))
        rows = trace[torch.from_numpy(kept.indices).to(trace.device)]
        if kept.weights is not None:
            rows = rows * torch.from_numpy(kept.weights).to(rows)[:, None]
        total, distances = rows.sum(0), sum_kept(trace, kept)[1:]
        return HerdedUpdate(
            total,
            kept.indices,
            len(trace),
            unravel(self.model, total),
            rate,
            round.start,
            *distances,
            counted=len(kept.indices) if kept.weights is None else float(kept.weights.sum()),
        )


def _flat(parameters: list[tuple[str, nn.Parameter]]) -> Tensor:
    """A copy of the parameters as one vector, in single precision or better."""
    flat = torch.cat([parameter.detach().reshape(-1) for _, parameter in parameters])
    return flat.to(torch.promote_types(flat.dtype, torch.float32))


def _check_complete(round: _Round, model: nn.Module) -> None:
    """Refuse a round in which rate x sum of the steps is not start - end."""
    if [name for name, _ in trainable(model)] != [name for name, _ in round.parameters]:
        raise InputError(
            "parameters were frozen or released inside the round: must stay as they were at its first step. "
            "Do it before the round."
        )
    gap = float(round.behind.abs().max())
    if gap != 0:
        raise InputError(
            f"|rate x sum of the steps - (start - end)| = {gap:.3g} at most: must be 0, but something else "
            "than the collector's optimizer changed the model in the round. Let that optimizer alone move "
            "it, and call herd() before loading another model."
        )
