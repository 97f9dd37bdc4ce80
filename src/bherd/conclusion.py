"""What may be said of methods that were run with the same seeds: one text for terminal and report.

Every pair of methods is compared by final test accuracy, seed by seed, and all pairs are one family: the best
is picked after looking, so its lead over each of the others has to stand against all of them (Holm). Every
method is named with its gap to the best and the interval of that gap, under one of three words: ahead, equal
within `ACCURACY_MARGIN`, undecided.

That a gain comes from a longer step is said only where it is shown. The selecting method must be ahead of the
method without selection; the controls at its step must be so too; and the whole interval of what it has over
these controls must lie below the margin. That a gain comes from which gradients are kept is said only where
the method is ahead of both controls.
"""

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bherd.config import Config
from bherd.methods import proportional
from bherd.statistics import (
    ACCURACY_MARGIN,
    FEWEST_SEEDS,
    Difference,
    Interval,
    Word,
    interval,
    paired,
    together,
    verdict,
)

SAME_STEP = 0.1
"""Steps whose lengths differ by less than a tenth count as equally long."""
MARGIN = f"{100 * ACCURACY_MARGIN:g} points"

Kind = Literal["everything", "random", "chosen"]
_KINDS: dict[str, Kind | None] = {"everything": "everything", "random": "random", "reversed": None}
"""By selector; all others choose. Reversed herding is a control that no argument needs."""


@dataclass(frozen=True)
class Role:
    """What a method is in an argument about steps and choices."""

    base: str
    """The method without its selector: fedavg, fednova, scaffold."""
    keeps: Kind
    share: float
    """The share alpha that it keeps; 1 for all."""
    length: float
    """Of its step, in units of FedAvg's."""
    server_lr: float | None
    """None where a rate is not the same as the length of a step."""
    terms: Hashable
    """Everything else that it was run with; only equals are compared as controls."""


def role_of(config: Config, length: float | None) -> Role | None:
    """The role of a run's method, given its step's length; None where it has none in the argument."""
    method = config.method
    kind = _KINDS.get(method.part_name("selector"), "chosen")
    if length is None or kind is None or method.name == "centralized":
        return None
    unnamed = 1.0 if kind == "everything" else math.nan
    share = unnamed if method.alpha is None else method.alpha
    others = {axis: text for axis, text in method.texts.parts.items() if axis not in ("selector", "server")}
    scales = proportional(method)
    server = {"server": method.part_name("server") if scales else str(method.server)}
    terms = (
        replace(config.task, data_dir=None),
        config.train,
        tuple({**others, **server}.items()),
        config.run.dtype,
    )
    return Role(method.base, kind, share, length, method.server_lr if scales else None, terms)


@dataclass(frozen=True)
class Contender:
    """One method and what its runs came to."""

    label: str
    finals: Mapping[int, float]
    """Final test accuracy by seed, of the runs that came to their end; -inf for one that diverged."""
    runs: int
    role: Role | None = None

    @property
    def diverged(self) -> int:
        return sum(value == -math.inf for value in self.finals.values())

    @property
    def unfinished(self) -> int:
        return self.runs - len(self.finals)

    @property
    def final(self) -> Interval:
        return interval(list(self.finals.values()))


class Family:
    """All pairs of contenders, compared as one family."""

    def __init__(self, contenders: Sequence[Contender]) -> None:
        pairs = list(itertools.combinations(contenders, 2))
        found = together([paired(a.finals, b.finals) for a, b in pairs])
        self.size = len(pairs)
        self._found = {(a.label, b.label): pair for (a, b), pair in zip(pairs, found, strict=True)}

    def difference(self, a: Contender, b: Contender) -> Difference:
        """A against B."""
        found = self._found.get((a.label, b.label))
        return found if found is not None else self._found[b.label, a.label].reversed()

    def word(self, a: Contender, b: Contender) -> Word:
        return verdict(self.difference(a, b), ACCURACY_MARGIN)


def conclude(contenders: Sequence[Contender], bounds: Sequence[str] = ()) -> list[str]:
    """What the final accuracies show, in sentences that name every method.

    Args:
        contenders: the methods, with labels that differ.
        bounds: labels of methods that are shown but do not compete, unless there is nothing else.

    Returns:
        Who ends highest and how far the others are from it; what selection gained and why; what diverged
        or has not come to its end.
    """
    whole = [one for one in contenders if not one.diverged and not one.unfinished]
    able = [one for one in whole if one.label not in bounds] or whole
    rest = _lost(contenders)
    if not able:
        if all(one.diverged == one.runs for one in contenders):
            return ["Every run diverged."]
        return ["No method has come to its end yet.", *rest]
    ranked = sorted(able, key=lambda one: -one.final.mean)
    if len(ranked) == 1:
        return [f"{ranked[0].label} ends at {_value(ranked[0].final)} test accuracy.", *rest]
    family = Family(ranked)
    seeds = [family.difference(ranked[0], other).seeds for other in ranked[1:]]
    return [*_standing(ranked, family), *_gains(ranked, family), _terms(seeds, family.size), *rest]


def _standing(ranked: Sequence[Contender], family: Family) -> list[str]:
    best, others = ranked[0], ranked[1:]
    start = f"{best.label} ends highest, at {100 * best.final.mean:.2f}% test accuracy."
    if others[0].final.mean == best.final.mean:
        start = f"No method ends higher than {best.label}, at {100 * best.final.mean:.2f}% test accuracy."
    groups: dict[Word, list[Contender]] = {"ahead": [], "behind": [], "equal": [], "undecided": []}
    for other in others:
        groups[family.word(best, other)].append(other)
    said = [start]
    if groups["ahead"]:
        parts = [f"{_named(o)} by {_points(family.difference(best, o))}" for o in groups["ahead"]]
        said.append(f"It is ahead of {_list(parts)}.")
    openings: dict[Word, str] = {
        "behind": "Ahead of it over the seeds that both have",
        "equal": f"Equal to it within {MARGIN}",
        "undecided": "Undecided",
    }
    for word, opening in openings.items():
        if groups[word]:
            said.append(f"{opening}: {_list([_apart(o, best, family) for o in groups[word]])}.")
    return said


def _terms(seeds: Sequence[int], comparisons: int) -> str:
    few, many = min(seeds), max(seeds)
    if many == 0:
        return "Without a seed in common nothing can be compared."
    if many == 1:
        return "One seed says nothing about chance."
    count = str(many) if few == many else f"{few} to {many}"
    corrected = f", corrected for {comparisons} comparisons" if comparisons > 1 else ""
    terms = f"± is the 95% interval over {count} paired seeds{corrected}"
    return f"{terms}; fewer than {FEWEST_SEEDS} seeds decide nothing." if few < FEWEST_SEEDS else f"{terms}."


def _gains(ranked: Sequence[Contender], family: Family) -> list[str]:
    """For each method that chooses: what it gained over its base, and what that came from."""
    said = []
    for one in ranked:
        if one.role is None or one.role.keeps != "chosen":
            continue
        role = one.role
        base = next((o for o in ranked if o.role and _is_base(o.role, role)), None)
        if base is not None and family.difference(one, base).seeds >= FEWEST_SEEDS:
            said.append(_gain(one, base, [o for o in ranked if o.role and _is_control(o.role, role)], family))
    return said


def _gain(one: Contender, base: Contender, controls: Sequence[Contender], family: Family) -> str:
    assert one.role is not None
    assert base.role is not None
    times = one.role.length / base.role.length
    longer = times > 1 + SAME_STEP
    step = f"With a step {times:.2g} times as long" if abs(times - 1) > SAME_STEP else "At the same step"
    gap, word = _points(family.difference(one, base), signed=True), family.word(one, base)
    if word == "undecided":
        return f"{step}, no gain of {one.label} over {base.label} is shown ({gap})."
    if word == "equal":
        return f"{step}, {one.label} gains nothing over {base.label} ({gap}: equal within {MARGIN})."
    if word == "behind":
        return f"{step}, {one.label} ends below {base.label} ({gap})."
    start = f"{step}, {one.label} gains {_points(family.difference(one, base))} over {base.label}"
    controls = [control for control in controls if control is not base]
    if not controls:
        return f"{start}. {_advice(one.role, longer)}"
    against = _list(
        [f"{_points(family.difference(one, c), signed=True)} against {c.label}" for c in controls]
    )
    return f"{start}. At that step it has {against}: {_cause(one, base, controls, family, longer)}."


def _cause(
    one: Contender, base: Contender, controls: Sequence[Contender], family: Family, longer: bool
) -> str:
    """What the gain of a method over its base came from, as far as the controls show it."""
    words = [family.word(one, control) for control in controls]
    most = max(family.difference(one, control).interval.high for control in controls)
    kinds = {control.role.keeps for control in controls if control.role}
    if all(word == "ahead" for word in words) and (kinds == {"everything", "random"} or not longer):
        return "part of the gain comes from which gradients are kept"
    gained = all(family.word(control, base) == "ahead" for control in controls)
    if not gained or most > ACCURACY_MARGIN:
        return "what the gain comes from is undecided"
    source = "the longer step" if longer else "leaving gradients out"
    if all(word == "equal" for word in words):
        return f"the gain comes from {source}, not from which gradients are kept"
    if all(word == "behind" for word in words):
        return f"the gain comes from {source}; which gradients are kept costs some of it"
    at_most = f"{100 * max(0.0, most):.2f} points"
    return f"the gain comes from {source}; which gradients are kept adds at most {at_most}"


def _advice(role: Role, longer: bool) -> str:
    plain = f"{role.base},server_lr={role.length:.3g} and " if longer and role.server_lr is not None else ""
    return (
        f"Nothing here tells what it comes from: run {plain}random-{role.base}, "
        "with the same share and step, beside it."
    )


def _is_base(role: Role, chosen: Role) -> bool:
    same = (role.base, role.server_lr, role.terms) == (chosen.base, chosen.server_lr, chosen.terms)
    return same and role.keeps == "everything"


def _is_control(role: Role, chosen: Role) -> bool:
    if (role.base, role.terms) != (chosen.base, chosen.terms) or role.keeps == "chosen":
        return False
    if role.keeps == "random" and role.share != chosen.share:
        return False
    return abs(role.length / chosen.length - 1) <= SAME_STEP


def _lost(contenders: Sequence[Contender]) -> list[str]:
    said = []
    for one in contenders:
        if one.diverged:
            said.append(f"{one.label} diverged in {one.diverged} of {one.runs} runs and is not ranked.")
        elif one.unfinished:
            said.append(f"{one.label} has {one.unfinished} of {one.runs} runs unfinished and is not ranked.")
    return said


def _apart(one: Contender, best: Contender, family: Family) -> str:
    found = family.difference(one, best)
    if not found.seeds:
        return f"{one.label} ({100 * one.final.mean:.2f}%, no seed in common)"
    return f"{one.label} ({100 * one.final.mean:.2f}%, {_points(found, signed=True)})"


def _named(one: Contender) -> str:
    return f"{one.label} ({100 * one.final.mean:.2f}%)"


def _value(value: Interval) -> str:
    half = "" if math.isnan(value.half_width) else f" ± {100 * value.half_width:.2f}"
    return f"{100 * value.mean:.2f}%{half}"


def _points(difference: Difference, *, signed: bool = False) -> str:
    found = difference.interval
    rounded = round(100 * found.mean, 2) + 0.0  # no negative zero
    mean = f"{rounded:+.2f}".replace("-", "−") if signed else f"{rounded:.2f}"
    half = "" if math.isnan(found.half_width) else f" ± {100 * found.half_width:.2f}"
    return f"{mean}{half} points"


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
