"""The claims about what happens inside the clients (figures 4a-4d), and Theorem 1."""

import math

import numpy as np

from bherd.experiments.claims import claim_row
from bherd.experiments.figure_4d import pair
from bherd.experiments.grid import CASES, Step, make_curve
from bherd.experiments.results import Results
from bherd.experiments.statistics import interval, tail
from bherd.experiments.verdict import NOT_RUN, Finding, Judged

FIXED = 0.5
SMALL = 0.5
"""A distance is small if it is below half of what a random half of the gradients has."""


def concentrated(results: Results) -> Judged:
    """Kept steps concentrate in a fixed region."""

    def measure(step: Step) -> Finding:
        texts, met, seeds = [], True, []
        for number, case in enumerate(CASES, start=1):
            rows = results.concentrations.get(
                make_curve(results.scale.svm, case, "bherd-fedavg", step=step).key, []
            )
            if not rows:
                return NOT_RUN
            each = sorted({row.seed for row in rows})
            means = [np.mean([r.concentration for r in rows if r.seed == seed]) for seed in each]
            found = interval(np.array(means))
            met = met and found.low > FIXED
            texts.append(f"case {number}: {found.mean:.2f} [{found.low:.2f}, {found.high:.2f}]")
            seeds.append(len(each))
        chance = 1 / math.sqrt(results.scale.svm.rounds)
        return Finding(f"concentration {'; '.join(texts)} (random: {chance:.2f})", met, min(seeds))

    return claim_row(results, "kept steps concentrate in a fixed region", measure)


def distances(results: Results) -> Judged:
    """The distance is small and falls."""

    def measure(step: Step) -> Finding:
        texts, met, seeds = [], True, []
        for number, case in enumerate(CASES, start=1):
            bherd, control = pair(results.scale, case, step)
            own, chance = results.distances.get(bherd.key), results.distances.get(control.key)
            if not own or not chance:
                return NOT_RUN
            falls = sum(bool(tail(b.mean).mean() < tail(b.mean[::-1]).mean()) for b in own.values())
            ratio = float(np.mean([own[i].mean.mean() / chance[i].mean.mean() for i in own]))
            met = met and falls == len(own) and ratio < SMALL
            texts.append(
                f"case {number}: falls in {falls} of {len(own)} clients, {ratio:.2f} of a random half's"
            )
            seeds.append(results.configurations[bherd.key].n)
        return Finding("; ".join(texts), met, min(seeds))

    return claim_row(results, "the distance of the kept mean from the mean is small and falls", measure)


def apart_in_case_3(results: Results) -> Judged:
    """In case 3, clients 4 and 5 lie higher than clients 1 to 3."""

    def measure(step: Step) -> Finding:
        bherd, _ = pair(results.scale, "case3", step)
        own = results.distances.get(bherd.key)
        if not own:
            return NOT_RUN
        means = [float(own[client].mean.mean()) for client in sorted(own)]
        text = "mean distance of client 1-5: " + ", ".join(f"{mean:.3g}" for mean in means)
        return Finding(text, min(means[3:]) > max(means[:3]), results.configurations[bherd.key].n)

    return claim_row(results, "in case 3 clients 4 and 5 have larger distances", measure)


def theorem(results: Results) -> Judged:
    """Theorem 1's bound, where its conditions are met; a bound needs no seeds."""

    def measure(step: Step) -> Finding:
        rows = [row for row in results.theorem if row.step == step]
        usual = [row for row in rows if row.setting == "as the paper"]
        within = [row for row in rows if row.conditions]
        if not rows:
            return NOT_RUN
        met = bool(within) and all(row.holds for row in within)
        respected = "still" if all(row.holds for row in usual) else "not"
        text = (
            f"conditions met in {sum(row.conditions for row in usual)} of {len(usual)} cases at the paper's "
            f"η (bound {respected} respected); with η small enough "
            f"({', '.join(f'{row.lr:.2g}' for row in within)}): left/right side "
            f"{', '.join(f'{row.left / row.right:.2g}' for row in within)}"
        )
        # The run is deterministic but for the order of samples: its three cases count as its repetitions.
        return Finding(text, met, len(usual))

    return claim_row(results, "Theorem 1's bound holds on the SVM (within its conditions)", measure)


def inner_claims(results: Results) -> list[Judged]:
    """Figures 4a-4d and the theorem."""
    return [concentrated(results), distances(results), apart_in_case_3(results), theorem(results)]
