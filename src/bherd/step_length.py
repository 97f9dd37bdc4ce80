"""How long a method's step is beside FedAvg's, and whether its clients keep the share that was asked for.

A client with few local steps cannot keep a share alpha of them: of one step it keeps one. The equation's
step makes up for the nominal alpha all the same and is longer than FedAvg's, without any selection. Needs
neither torch nor numpy; `bherd.step_measure` finds the numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

OFF_BY = 0.1
"""A kept share that is further from alpha than this, relative to alpha, is told."""
SAME = 0.005
"""Lengths that differ by less, relative to FedAvg's, are shown as equal."""


class Step(NamedTuple):
    """What clients keep, and the length that the server's step has by it."""

    kept_share: float
    """Kept gradients over local steps, of all clients together."""
    asked_share: float | None
    """The nominal alpha; None for a selector that measures its own share."""
    length: float
    """In units of FedAvg's step with the same E, B and learning rate."""

    @property
    def note(self) -> str | None:
        """The sentence for a kept share that is not the one asked for; None where it is."""
        asked = self.asked_share
        if asked is None or abs(self.kept_share - asked) <= OFF_BY * asked:
            return None
        return (
            f"at alpha = {asked:g} these clients keep {self.kept_share:.0%} of their steps: "
            f"the step is {times_fedavg(self.length)}"
        )


def read_step(summary: Mapping[str, Any] | None) -> Step | None:
    """The step as a run's summary has it; None where it has none."""
    found = (summary or {}).get("step")
    return Step(*(found[name] for name in Step._fields)) if found else None


def mean_step(steps: Sequence[Step | None]) -> Step | None:
    """The step of runs that differ in their seed alone; None where no run has one."""
    known = [step for step in steps if step is not None]
    if not known:
        return None
    kept = sum(step.kept_share for step in known) / len(known)
    return Step(kept, known[0].asked_share, sum(step.length for step in known) / len(known))


def times_fedavg(length: float) -> str:
    """A length in words: "2.0 times FedAvg's", "as long as FedAvg's"."""
    if abs(length - 1) < SAME:
        return "as long as FedAvg's"
    digits = 1 if abs(length - round(length, 1)) < SAME else 2
    return f"{length:.{digits}f} times FedAvg's"
