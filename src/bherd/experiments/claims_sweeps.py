"""The claims about the sweeps over α, E, B and N, and about reshuffling (figures 3a-3d, 4e)."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from bherd.experiments import figure_3a, figure_3b, figure_3c, figure_3d
from bherd.experiments.claims import by_case, claim_row, rougher
from bherd.experiments.grid import CASES, Curve, Step, controlled, make_curve
from bherd.experiments.results import Results
from bherd.experiments.statistics import settled
from bherd.experiments.verdict import NOT_RUN, Finding, Judged, is_equal, is_faster, signed


def chain(results: Results, series: Sequence[Sequence[Curve]]) -> Finding:
    """For each case a series of curves, each of which should be faster than the one before it."""
    texts, met, seeds = [], True, []
    for number, curves in enumerate(series, start=1):
        found = [results.compare(after, before) for before, after in pairwise(curves)]
        if any(one.n == 0 for one in found):
            return NOT_RUN
        met = met and all(map(is_faster, found))
        seeds += [one.n for one in found]
        texts.append(f"case {number}: " + ", ".join(signed(100 * one.difference.mean) for one in found) + "%")
    return Finding("step by step " + "; ".join(texts), met, min(seeds))


def alpha_one(results: Results) -> Judged:
    svm = results.scale.svm

    def measure(step: Step) -> Finding:
        found = [
            results.compare(
                figure_3a.bherd(svm, case, step, 1.0),
                make_curve(svm, case, "fedavg"),
            )
            for case in CASES
        ]
        return by_case(found, is_equal)

    return claim_row(results, "α = 1 equals FedAvg", measure)


def alpha_faster(results: Results) -> Judged:
    svm, values = results.scale.svm, (1.0, 0.7, 0.5, 0.3)
    return claim_row(
        results,
        "α from 1 down to 0.3: ever faster",
        lambda step: chain(results, [[figure_3a.bherd(svm, c, step, v) for v in values] for c in CASES]),
    )


def alpha_fails(results: Results) -> Judged:
    svm = results.scale.svm
    beside = [controlled(svm, figure_3a.bherd(svm, case, "amplified", 0.1)) for case in CASES]
    _, plain, random = zip(*beside, strict=True)
    controls = {"all gradients": failures(results, plain), "a random tenth": failures(results, random)}
    return claim_row(
        results,
        "α = 0.1 fails to converge",
        lambda step: failures(results, [figure_3a.bherd(svm, case, step, 0.1) for case in CASES]),
        "; ".join(f"{name}: {found.text}" for name, found in controls.items() if found.met is not None),
    )


def failures(results: Results, curves: Sequence[Curve]) -> Finding:
    """Runs that diverged or ended well above the best they had reached: most of them, in every case?"""
    texts, met, seeds = [], True, []
    for number, curve in enumerate(curves, start=1):
        rows = results.runs.get(curve.key, [])
        if not rows:
            return NOT_RUN
        failed = sum(not settled(row.diverged_at, row.tail_loss, row.best_loss) for row in rows)
        met = met and 2 * failed > len(rows)
        texts.append(f"case {number}: {failed} of {len(rows)} runs fail")
        seeds.append(len(rows))
    return Finding("; ".join(texts), met, min(seeds))


def epochs_faster(results: Results) -> Judged:
    svm, values = results.scale.svm, (0.1, 0.5, 1.0, 1.5, 2.0)
    return claim_row(
        results,
        "E from 0.1 up to 2: ever faster",
        lambda step: chain(results, [[figure_3b.bherd(svm, c, step, v) for v in values] for c in CASES]),
    )


def epochs_oscillate(results: Results) -> Judged:
    svm = results.scale.svm

    def measure(step: Step) -> Finding:
        found = [
            rougher(
                results,
                figure_3b.bherd(svm, case, step, 2.0),
                figure_3b.bherd(svm, case, step, 1.0),
                2.0,
            )
            for case in CASES
        ]
        if any(one.met is None for one in found):
            return NOT_RUN
        text = "; ".join(f"case {number}: {one.text}" for number, one in enumerate(found, start=1))
        return Finding(text, all(one.met for one in found), min(one.n for one in found))

    return claim_row(results, "E = 2 oscillates more than E = 1", measure)


def best_batch(results: Results) -> Judged:
    svm, wanted = results.scale.svm, (10, 10, 50)

    def measure(step: Step) -> Finding:
        texts, met, seeds = [], True, []
        for number, (case, best) in enumerate(zip(CASES, wanted, strict=True), start=1):
            curves = [figure_3c.bherd(svm, case, step, b) for b in svm.batch_sizes]
            if not results.has(*curves):
                return NOT_RUN
            areas = [results.configurations[curve.key].area for curve in curves]
            found = svm.batch_sizes[int(np.argmin(areas))]
            above = [a for b, a in zip(svm.batch_sizes, areas, strict=True) if b >= best]
            met = met and found == best and above == sorted(above)
            texts.append(f"case {number}: best B={found}")
            seeds.append(min(results.configurations[curve.key].n for curve in curves))
        return Finding("; ".join(texts), met, min(seeds))

    return claim_row(results, "the best B is 10, 10, 50 in case 1-3, larger ones are slower", measure)


def few_clients(results: Results) -> Judged:
    svm = results.scale.svm

    def measure(step: Step) -> Finding:
        texts, met, seeds = [], True, []
        for number, case in enumerate(CASES, start=1):
            five = figure_3d.bherd(svm, case, step, 5)
            found = [results.compare(figure_3d.bherd(svm, case, step, 1), five)]
            found += [results.compare(five, figure_3d.bherd(svm, case, step, n)) for n in (10, 15, 20)]
            if any(one.n == 0 for one in found):
                return NOT_RUN
            met = met and all(map(is_faster, found))
            seeds += [one.n for one in found]
            differences = ", ".join(signed(100 * one.difference.mean) for one in found[1:])
            texts.append(
                f"case {number}: 1 against 5 {signed(100 * found[0].difference.mean)}%, "
                f"5 against 10, 15, 20 {differences}%"
            )
        return Finding("; ".join(texts), met, min(seeds))

    return claim_row(results, "N = 1 is fastest, then N = 5", measure)


def reshuffling(results: Results) -> Judged:
    svm = results.scale.svm

    def measure(step: Step) -> Finding:
        found = [
            results.compare(
                make_curve(svm, case, "bherd-fedavg", step=step, reshuffle=True),
                make_curve(svm, case, "bherd-fedavg", step=step),
            )
            for case in CASES
        ]
        return by_case(found, is_equal)

    return claim_row(results, "reshuffling matters little", measure)


def sweep_claims(results: Results) -> list[Judged]:
    """Figures 3a-3d and 4e."""
    return [
        alpha_one(results),
        alpha_faster(results),
        alpha_fails(results),
        epochs_faster(results),
        epochs_oscillate(results),
        best_batch(results),
        few_clients(results),
        reshuffling(results),
    ]
