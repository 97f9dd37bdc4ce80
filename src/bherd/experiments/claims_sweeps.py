"""The claims about the sweeps over α, E, B and N, and about reshuffling (figures 3a-3d, 4e).

Each is measured for BHerd under both steps and then, in the same way, for its controls: all gradients
and a random share, with the amplified step and BHerd's order. A trend that they show too is not BHerd's.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from bherd.experiments import figure_3a, figure_3b, figure_3c, figure_3d, figure_4e
from bherd.experiments.claims import by_case, claim_row, rougher
from bherd.experiments.grid import CASES, Beside, Case, Curve, Step, beside, make_curve
from bherd.experiments.results import Results
from bherd.experiments.scales import Workload
from bherd.experiments.statistics import settled
from bherd.experiments.verdict import NOT_RUN, Finding, Judged, is_equal, is_faster, percent

Sweep = Callable[[Workload, Case, Step, float], Curve]
"""BHerd at a value of what the sweep is over."""
At = Callable[[Case, float], Curve]
"""A curve at such a value: BHerd's under one step, or a control's."""


def beside_controls(results: Results, claim: str, bherd: Sweep, measure: Callable[[At], Finding]) -> Judged:
    """Measure BHerd under both steps, and its controls at the amplified one."""
    svm = results.scale.svm

    def at(one_of: Callable[[Beside], Curve]) -> At:
        return lambda case, value: one_of(beside(svm, lambda step: bherd(svm, case, step, value)))

    controls = {"all gradients": at(lambda four: four.plain), "a random share": at(lambda four: four.random)}
    found = {name: measure(control) for name, control in controls.items()}
    return claim_row(
        results,
        claim,
        lambda step: measure(lambda case, value: bherd(svm, case, step, value)),
        ". ".join(f"{name}: {one.text}" for name, one in found.items() if one.met is not None),
    )


def chain(results: Results, series: Sequence[Sequence[Curve]]) -> Finding:
    """For each case a series of curves, each of which should be faster than the one before it."""
    texts, met, seeds = [], True, []
    for number, curves in enumerate(series, start=1):
        found = [results.compare(after, before) for before, after in pairwise(curves)]
        if any(one.n == 0 for one in found):
            return NOT_RUN
        met = met and all(map(is_faster, found))
        seeds += [one.n for one in found]
        texts.append(f"case {number}: " + ", ".join(map(percent, found)))
    return Finding("step by step " + "; ".join(texts), met, min(seeds))


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


def alpha_one(results: Results) -> Judged:
    svm = results.scale.svm

    def measure(step: Step) -> Finding:
        found = [
            results.compare(figure_3a.bherd(svm, case, step, 1.0), make_curve(svm, case, "fedavg"))
            for case in CASES
        ]
        return by_case(found, is_equal)

    return claim_row(results, "α = 1 equals FedAvg", measure)


def alpha_faster(results: Results) -> Judged:
    values = (1.0, 0.7, 0.5, 0.3)
    return beside_controls(
        results,
        "α from 1 down to 0.3: ever faster",
        figure_3a.bherd,
        lambda at: chain(results, [[at(case, value) for value in values] for case in CASES]),
    )


def alpha_fails(results: Results) -> Judged:
    return beside_controls(
        results,
        "α = 0.1 fails to converge",
        figure_3a.bherd,
        lambda at: failures(results, [at(case, 0.1) for case in CASES]),
    )


def epochs_faster(results: Results) -> Judged:
    values = (0.1, 0.5, 1.0, 1.5, 2.0)
    return beside_controls(
        results,
        "E from 0.1 up to 2: ever faster",
        figure_3b.bherd,
        lambda at: chain(results, [[at(case, value) for value in values] for case in CASES]),
    )


def epochs_oscillate(results: Results) -> Judged:
    def measure(at: At) -> Finding:
        found = [rougher(results, at(case, 2.0), at(case, 1.0), 2.0) for case in CASES]
        if any(one.met is None for one in found):
            return NOT_RUN
        text = "; ".join(f"case {number}: {one.text}" for number, one in enumerate(found, start=1))
        return Finding(text, all(one.met for one in found), min(one.n for one in found))

    return beside_controls(results, "E = 2 oscillates more than E = 1", figure_3b.bherd, measure)


def best_batch(results: Results) -> Judged:
    sizes = results.scale.svm.batch_sizes

    def measure(at: At) -> Finding:
        texts, met, seeds = [], True, []
        for number, (case, best) in enumerate(zip(CASES, (10, 10, 50), strict=True), start=1):
            steps = [(at(case, before), at(case, after)) for before, after in pairwise(sizes)]
            found = [results.compare(after, before) for before, after in steps]
            if any(one.n == 0 for one in found):
                return NOT_RUN
            turn = sizes.index(best) if best in sizes else 0
            down, up = found[:turn], [results.compare(before, after) for before, after in steps[turn:]]
            met = met and all(map(is_faster, [*down, *up]))
            seeds += [one.n for one in found]
            texts.append(f"case {number}: " + ", ".join(map(percent, found)))
        return Finding(f"from B to B ({', '.join(map(str, sizes))}) " + "; ".join(texts), met, min(seeds))

    claim = "the best B is 10, 10, 50 in case 1-3, larger ones are slower"
    return beside_controls(results, claim, figure_3c.bherd, measure)


def few_clients(results: Results) -> Judged:
    def measure(at: At) -> Finding:
        texts, met, seeds = [], True, []
        for number, case in enumerate(CASES, start=1):
            found = [results.compare(at(case, 1), at(case, 5))]
            found += [results.compare(at(case, 5), at(case, clients)) for clients in (10, 15, 20)]
            if any(one.n == 0 for one in found):
                return NOT_RUN
            met = met and all(map(is_faster, found))
            seeds += [one.n for one in found]
            texts.append(
                f"case {number}: 1 against 5 {percent(found[0])}, "
                f"5 against 10, 15, 20 {', '.join(map(percent, found[1:]))}"
            )
        return Finding("; ".join(texts), met, min(seeds))

    return beside_controls(results, "N = 1 is fastest, then N = 5", figure_3d.bherd, measure)


def reshuffling(results: Results) -> Judged:
    return beside_controls(
        results,
        "reshuffling matters little",
        figure_4e.bherd,
        lambda at: by_case([results.compare(at(case, True), at(case, False)) for case in CASES], is_equal),
    )


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
