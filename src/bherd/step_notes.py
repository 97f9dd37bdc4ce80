"""What a comparison has to say of steps that are longer or shorter than FedAvg's."""

from collections.abc import Sequence
from typing import NamedTuple

from bherd.conclusion import SAME_STEP
from bherd.config import MethodConfig
from bherd.labels import number
from bherd.methods import proportional
from bherd.step_length import SAME, Step, times_fedavg


class Stepper(NamedTuple):
    """One method of a comparison with its step."""

    label: str
    method: MethodConfig
    step: Step

    @property
    def selects(self) -> bool:
        return self.method.selects

    @property
    def base(self) -> str:
        """The method without its selector."""
        return self.method.base


def lengths_differ(steps: Sequence[Step | None]) -> bool:
    """Whether the lengths are worth a column: some step is not as long as FedAvg's."""
    return any(step is not None and abs(step.length - 1) >= SAME for step in steps)


def step_notes(steppers: Sequence[Stepper]) -> list[str]:
    """Sentences on shares that could not be kept, and on steps without a control of their length."""
    return [*_shares(steppers), *_controls(steppers)]


def _shares(steppers: Sequence[Stepper]) -> list[str]:
    found: dict[str, list[str]] = {}
    for one in steppers:
        if one.step.note is not None:
            found.setdefault(one.step.note, []).append(one.label)
    return [f"{', '.join(labels)}: {note}." for note, labels in found.items()]


def _controls(steppers: Sequence[Stepper]) -> list[str]:
    """For the methods that select at another length than FedAvg's: the controls that are not there."""
    lacking: dict[tuple[str, ...], list[Stepper]] = {}
    for one in steppers:
        if one.selects and abs(one.step.length - 1) > SAME_STEP:
            lacking.setdefault(_missing(one, steppers), []).append(one)
    said = []
    for missing, needy in lacking.items():
        if missing:
            lengths = [f"The step of {one.label} is {times_fedavg(one.step.length)}" for one in needy]
            said.append(
                f"{'; '.join([lengths[0], *(length.replace('The', 'the', 1) for length in lengths[1:])])}. "
                f"What tells a better choice from a longer step is not here: {' and '.join(missing)} "
                "(`bherd compare --controls` adds the controls)."
            )
    return said


def _missing(one: Stepper, steppers: Sequence[Stepper]) -> tuple[str, ...]:
    """The controls of a method at its own length that no other method of the comparison is."""
    same = [other for other in steppers if other.base == one.base and _as_long(other, one)]
    missing = []
    if all(other.selects for other in same) and proportional(one.method):
        missing.append(f"{one.base},server_lr={one.step.length:.3g}")
    if one.method.alpha is not None and not any(_is_random(other, one) for other in same):
        missing.append(f"random-{one.base},alpha={number(one.method.alpha)}" + _step(one.method))
    return tuple(missing)


def _step(method: MethodConfig) -> str:
    return "" if method.step == "equation" else f",step={method.step}"


def _as_long(other: Stepper, one: Stepper) -> bool:
    return abs(other.step.length / one.step.length - 1) <= SAME_STEP


def _is_random(other: Stepper, one: Stepper) -> bool:
    return other.method.part_name("selector") == "random" and other.method.alpha == one.method.alpha
