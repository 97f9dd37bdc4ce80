"""A method: seven answers to the questions of a round, and one more for the end of the run.

One round, for the server's parameters w:

    the server:     clients   = participation.choose()
    each client i:  visits    = order.visit()
                    directions d = optimizer.direction(gradient + correction.terms), w_i <- w_i - lr d
                    kept      = selector.select(trace of the directions)
                    update    = transform.send(sum of the kept directions)
    the server:     direction = aggregation.combine(updates), by the length that `step` says
                    w         <- server.update(direction)
                    shipped   follows w

Imports neither torch nor numpy.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from bherd.aggregations.average import Average
from bherd.aggregations.base import Aggregation
from bherd.corrections.base import Correction
from bherd.corrections.none import NoCorrection
from bherd.errors import InputError
from bherd.optimizers.base import LocalOptimizer
from bherd.optimizers.sgd import LocalSgd
from bherd.orders.base import Order
from bherd.orders.fixed import FixedOrder
from bherd.orders.reshuffled import Reshuffled
from bherd.pairs import refuse_pairs
from bherd.participation.base import Participation
from bherd.participation.uniform import Uniform
from bherd.parts.part import Part, at_round
from bherd.parts.records import STEP_LENGTHS, Report, StepLength
from bherd.parts.schedule import has_schedule
from bherd.parts.spec import base_of
from bherd.parts.table import AXES
from bherd.selectors.base import Selector
from bherd.selectors.everything import Everything
from bherd.servers.base import ServerOptimizer
from bherd.servers.sgd import ServerSgd
from bherd.shipped.base import Shipped
from bherd.shipped.last import LastModel
from bherd.transforms.base import Transform
from bherd.transforms.none import AsItIs


@dataclass(frozen=True)
class Method:
    """One federated method: a part for each question. What is left out is FedAvg's answer.

    Args:
        selector: what clients keep.
        correction: what is added to their gradients.
        aggregation: how updates are merged.
        server: how the server moves.
        order: what clients visit; None: reshuffled where everything is kept, else one fixed order, as in
            the paper.
        participation: who is asked.
        optimizer: how clients step.
        transform: what clients send.
        shipped: which model is evaluated and saved.
        step: the length of the server's step for methods that select: equation (as the paper writes it, the
            default), amplified (1/alpha longer) or matched (FedAvg's). None where everything is kept.

    Raises:
        InputError: a part does not belong to its axis, or two parts make no sense together.
    """

    selector: Selector = field(default_factory=Everything)
    correction: Correction = field(default_factory=NoCorrection)
    aggregation: Aggregation = field(default_factory=Average)
    server: ServerOptimizer = field(default_factory=ServerSgd)
    order: Order | None = None
    participation: Participation = field(default_factory=Uniform)
    optimizer: LocalOptimizer = field(default_factory=LocalSgd)
    transform: Transform = field(default_factory=AsItIs)
    shipped: Shipped = field(default_factory=LastModel)
    step: StepLength | None = None
    _scheduled: bool = field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.order is None:
            object.__setattr__(self, "order", usual_order(self.selector))
        for axis in AXES:
            part, base = getattr(self, axis), base_of(axis)
            if not isinstance(part, base):
                raise InputError(f"{axis} is {part!r}: must be a {base.__name__}.")
        if self.step not in (None, *STEP_LENGTHS):
            raise InputError(f"step = {self.step!r}: must be one of {', '.join(STEP_LENGTHS)}.")
        if self.step is not None and self.selector.keeps_all:
            raise InputError(
                f"step = {self.step}: {self.selector} keeps everything and has none. Leave it out."
            )
        if self.step is None and not self.selector.keeps_all:
            object.__setattr__(self, "step", "equation")
        refuse_pairs(self.parts)
        scheduled = any(has_schedule(*vars(part).values()) for part in self.parts.values())
        object.__setattr__(self, "_scheduled", scheduled)

    @property
    def parts(self) -> dict[str, Part]:
        """Every part by its axis."""
        return {axis: getattr(self, axis) for axis in AXES}

    @property
    def visiting(self) -> Order:
        """The order, which is always there once the method is made."""
        return cast(Order, self.order)

    def at(self, round: int) -> "Method":
        """The method with every schedule replaced by its number in this round."""
        if not self._scheduled:
            return self
        changed = {}
        for axis in AXES:
            part = getattr(self, axis)
            now = at_round(part, round)
            if now is not part:
                changed[axis] = now
        return dataclasses.replace(self, **changed) if changed else self


def usual_order(selector: Selector) -> Order:
    """Reshuffled where everything is kept; a selector's clients have one fixed order, as in the paper."""
    return Reshuffled() if selector.keeps_all else FixedOrder()


def shares(reports: Sequence[Report]) -> list[float]:
    """The weights p_i of the clients that took part, which sum to 1."""
    total = sum(report.weight for report in reports)
    return [report.weight / total for report in reports]
