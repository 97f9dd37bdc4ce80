"""The claims about what happens inside the clients (figures 4a-4d), and Theorem 1."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bherd.statistics import Band, Difference, Floats, interval
from paper.bounds import Part, against, from_error, larger
from paper.claims import CASE_NAMES, finding, make_claim
from paper.figure_4d import pair
from paper.grid import CASES, Case, Step, make_curve
from paper.measures import tail
from paper.results import Results
from paper.verdict import NOT_RUN, Claim, Finding
from paper.wording import percent, signed, times

FIXED = 0.5
SMALL = 0.5
"""A distance is small if it is below half of what a random half of the gradients has."""
TABLE = (
    "The table has means and intervals over the seeds, round by round. The interval of a mean over rounds is "
    "taken as wide as it could be, as if all rounds moved together."
)


def concentrated(results: Results) -> Claim:
    """Kept steps concentrate in a fixed region."""

    def part(case: Case, step: Step) -> Part:
        key = make_curve(results.scale.svm, case, "bherd-fedavg", step=step).key
        rows = results.concentrations.get(key, [])
        each = {
            seed: float(np.mean([row.concentration for row in rows if row.seed == seed]))
            for seed in sorted({row.seed for row in rows})
        }
        mean, low, high = interval(list(each.values()))[:3]
        text = f"{mean:.2f} [{low:.2f}, {high:.2f}]" if each else "–"
        return larger(each, dict.fromkeys(each, 1.0), FIXED, CASE_NAMES[case], text=text)

    def measure(step: Step) -> Finding:
        chance = 1 / math.sqrt(results.scale.svm.rounds)
        note = f"A random choice has about {chance:.2f}."
        return finding([part(case, step) for case in CASES], note=note)

    return make_claim(
        results,
        "kept steps concentrate in a fixed region",
        f"In every case the concentration is above {FIXED:g}: 0 if every step is kept equally often over the "
        "rounds, 1 if the same steps are kept in every round.",
        "4a",
        measure,
    )


class Level(NamedTuple):
    """A mean over rounds and its standard error."""

    mean: float
    error: float


def _level(values: Floats, half: Floats, seeds: int) -> Level:
    """From means and half intervals; the error is the largest that they allow."""
    unit = from_error(seeds, 0.0, 1.0).interval
    quantile = math.log1p(unit.high)
    return Level(float(values.mean()), float(half.mean()) / quantile)


def _ratio(a: Level, b: Level, seeds: int) -> Difference:
    """The ratio of two means with errors that may go together in any way."""
    return from_error(seeds, math.log(a.mean / b.mean), a.error / a.mean + b.error / b.mean)


def _overall(band: Band, seeds: int) -> Level:
    return _level(band.mean, (band.high - band.low) / 2, seeds)


def _drawn_anew(band: Band, seeds: int) -> Level:
    """The same where every round is a draw of its own."""
    mean, error = _overall(band, seeds)
    return Level(mean, error / math.sqrt(len(band.mean)))


def _falls(band: Band, seeds: int) -> Difference:
    """The last tenth of the rounds against the first."""
    half = (band.high - band.low) / 2
    first = _level(tail(band.mean[::-1]), tail(half[::-1]), seeds)
    return _ratio(_level(tail(band.mean), tail(half), seeds), first, seeds)


def distances(results: Results) -> Claim:
    """The distance is small and falls."""

    def measure(step: Step) -> Finding:
        parts, in_short = [], []
        for case in CASES:
            bherd, control = pair(results.scale, case, step)
            own, chance = results.distances.get(bherd.key), results.distances.get(control.key)
            if not own or not chance:
                return NOT_RUN
            seeds, name = results.configurations[bherd.key].n, CASE_NAMES[case]
            small = [_ratio(_overall(own[i], seeds), _drawn_anew(chance[i], seeds), seeds) for i in own]
            falls = [_falls(own[i], seeds) for i in own]
            parts += [
                Part(name, "size", times(one), one, *against(one, SMALL, -1), is_ratio=True) for one in small
            ]
            parts += [Part(name, "fall", percent(one), one, *against(one, 1.0, -1)) for one in falls]
            in_short.append(
                (
                    name,
                    f"{_extremes(small, times)} of a random half's; first to last tenth "
                    f"{_extremes(falls, percent)}, a random half's "
                    f"{signed(100 * math.expm1(np.mean([_falls(chance[i], seeds).mean for i in own])))}%",
                )
            )
        return Finding(tuple(parts), in_short=tuple(in_short))

    return make_claim(
        results,
        "the distance of the kept mean from the mean is small and falls",
        f"In every case and client it is below {SMALL:g} of a random half's, and lower in the last tenth of "
        "the "
        "rounds than in the first; shown are the clients with the smallest and the largest value. Gradients "
        f"shrink, so a random half's distance falls too. {TABLE} A random half is drawn anew in every round, "
        "so its rounds count as independent.",
        "4d",
        measure,
    )


def _extremes(found: list[Difference], text: Callable[[Difference], str]) -> str:
    ordered = sorted(found, key=lambda one: one.mean)
    return f"{text(ordered[0])} to {text(ordered[-1])}"


def apart_in_case_3(results: Results) -> Claim:
    """In case 3, clients 4 and 5 lie higher than clients 1 to 3."""

    def measure(step: Step) -> Finding:
        bherd, _ = pair(results.scale, "case3", step)
        own = results.distances.get(bherd.key)
        if not own:
            return NOT_RUN
        seeds = results.configurations[bherd.key].n
        means = {client + 1: _overall(band, seeds) for client, band in own.items()}
        parts = []
        for far in (4, 5):
            for near in (1, 2, 3):
                found = _ratio(means[far], means[near], seeds)
                name = f"{far} against {near}:"
                parts.append(Part("case 3", name, percent(found), found, *against(found, 1.0, 1)))
        shown = ", ".join(f"{mean:.3g}" for mean, _ in means.values())
        return finding(parts, note=f"Mean distance of client 1-5: {shown}.")

    return make_claim(
        results,
        "in case 3 clients 4 and 5 have larger distances",
        f"Each of them has a larger mean distance over the rounds than each of the clients 1 to 3. {TABLE}",
        "4d",
        measure,
    )


def theorem(results: Results) -> Claim:
    """Theorem 1's bound, where its conditions are met."""

    def measure(step: Step) -> Finding:
        rows = [row for row in results.theorem if row.step == step]
        usual = [row for row in rows if row.setting == "as the paper"]
        within = [row for row in rows if row.conditions]
        if not rows:
            return NOT_RUN
        respected = "still" if all(row.holds for row in usual) else "not"
        seeds = {row.seed for row in within}
        largest = max((row.left / row.right for row in within), default=math.nan)
        note = (
            f"Conditions met in {sum(row.conditions for row in usual)} of {len(usual)} cases at the paper's "
            f"η (bound {respected} respected there). With η small enough ("
            f"{min((row.lr for row in within), default=math.nan):.2g} to "
            f"{max((row.lr for row in within), default=math.nan):.2g}), in {len(within)} runs of "
            f"{len(seeds)} seeds: the left side is at most {largest:.2g} of the right side; "
            f"{sum(not row.holds for row in within)} violations."
        )
        return Finding(counted=all(row.holds for row in within), seeds=len(seeds), note=note)

    return make_claim(
        results,
        "Theorem 1's bound holds on the SVM (within its conditions)",
        "No run that meets the theorem's conditions violates the bound, in three cases and at least three "
        "seeds. This counts, and tests nothing.",
        "",
        measure,
    )


def inner_claims(results: Results) -> list[Claim]:
    """Figures 4a-4d and the theorem."""
    return [concentrated(results), distances(results), apart_in_case_3(results), theorem(results)]
