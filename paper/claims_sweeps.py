"""The claims about the sweeps over α, E, B and N, and about reshuffling (figures 3a-3d, 4e).

Each is measured for BHerd under both steps and then, in the same way, for its controls: all gradients
and a random share, with the amplified step and BHerd's order. A trend that they show too is not BHerd's.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from paper import figure_3, figure_4e
from paper.bounds import Part, equal, faster, larger
from paper.claims import CASE_NAMES, TWICE, by_case, finding, make_claim, rougher
from paper.grid import CASES, Beside, Case, Curve, Step, beside, make_curve
from paper.measures import SETTLED
from paper.results import Results
from paper.scales import Workload
from paper.verdict import Claim, Finding
from paper.wording import times

Sweep = Callable[[Workload, Case, Step, float], Curve]
"""BHerd at a value of what the sweep is over."""
At = Callable[[Case, float], Curve]
"""A curve at such a value: BHerd's under one step, or a control's."""
EQUAL = "In every case the whole difference in area lies within ±1%."
EVER_FASTER = "In every case every step of {steps} makes the area smaller by more than 1%."


def beside_controls(
    results: Results, text: str, rule: str, picture: str, bherd: Sweep, measure: Callable[[At], Finding]
) -> Claim:
    """Measure BHerd under both steps, and its controls at the amplified one."""
    svm = results.scale.svm

    def at(one_of: Callable[[Beside], Curve]) -> At:
        return lambda case, value: one_of(beside(svm, lambda step: bherd(svm, case, step, value)))

    controls = (
        ("all gradients, amplified", measure(at(lambda four: four.plain))),
        ("a random share, amplified", measure(at(lambda four: four.random))),
    )
    return make_claim(
        results,
        text,
        rule,
        picture,
        lambda step: measure(lambda case, value: bherd(svm, case, step, value)),
        controls,
    )


def chain(results: Results, at: At, values: Sequence[float], turns: Sequence[float] | None = None) -> Finding:
    """In each case each value faster than the one before it, up to where the case turns; slower after it."""
    parts: list[Part] = []
    for number, case in enumerate(CASES):
        turn = len(values) if turns is None else values.index(turns[number])
        for place, (before, after) in enumerate(pairwise(values)):
            one, other = results.areas(at(case, after)), results.areas(at(case, before))
            part = faster(one, other, CASE_NAMES[case], f"{before:g} → {after:g}:")
            if place >= turn:
                back = faster(other, one)
                part = part._replace(met=back.met, refuted=back.refuted)
            parts.append(part)
    return finding(parts)


def failing(results: Results, at: At, value: float) -> Finding:
    """In each case, how high the runs end above the lowest loss they had."""
    parts = []
    for case in CASES:
        ends, lowest = results.endings(at(case, value)), results.lowest(at(case, value))
        part = larger(ends, lowest, SETTLED, CASE_NAMES[case])
        parts.append(part._replace(text=times(part.difference)))
    return finding(parts)


def alpha_one(results: Results) -> Claim:
    """BHerd that keeps all against FedAvg."""
    svm = results.scale.svm

    def measure(step: Step) -> Finding:
        pairs = [
            (figure_3.ALPHA.bherd(svm, case, step, 1.0), make_curve(svm, case, "fedavg")) for case in CASES
        ]
        return by_case(results, pairs, equal)

    return make_claim(results, "α = 1 equals FedAvg", EQUAL, "3a-loss", measure)


def alpha_faster(results: Results) -> Claim:
    """The smaller share the faster."""
    return beside_controls(
        results,
        "α from 1 down to 0.3: ever faster",
        EVER_FASTER.format(steps="α (1, 0.7, 0.5, 0.3)"),
        "3a-loss",
        figure_3.ALPHA.bherd,
        lambda at: chain(results, at, (1.0, 0.7, 0.5, 0.3)),
    )


def alpha_fails(results: Results) -> Claim:
    """The smallest share."""
    return beside_controls(
        results,
        "α = 0.1 fails to converge",
        f"In every case the mean loss of the last tenth is more than {SETTLED:g} times the lowest loss that "
        "the run had; the ratio of the two is printed. A run that diverged counts as larger than any ratio.",
        "3a-smallest",
        figure_3.ALPHA.bherd,
        lambda at: failing(results, at, 0.1),
    )


def epochs_faster(results: Results) -> Claim:
    """The more epochs the faster."""
    return beside_controls(
        results,
        "E from 0.1 up to 2: ever faster",
        EVER_FASTER.format(steps="E (0.1, 0.5, 1, 1.5, 2)"),
        "3b-loss",
        figure_3.EPOCHS.bherd,
        lambda at: chain(results, at, (0.1, 0.5, 1.0, 1.5, 2.0)),
    )


def epochs_oscillate(results: Results) -> Claim:
    """Two epochs against one."""
    return beside_controls(
        results,
        "E = 2 oscillates more than E = 1",
        f"In every case: {TWICE[0].lower()}{TWICE[1:]}",
        "3b-loss",
        figure_3.EPOCHS.bherd,
        lambda at: finding(
            [rougher(results, at(case, 2.0), at(case, 1.0), 2.0, CASE_NAMES[case]) for case in CASES]
        ),
    )


def best_batch(results: Results) -> Claim:
    """Smaller batches are faster, down to the best one of each case."""
    return beside_controls(
        results,
        "the best B is 10, 10, 50 in case 1-3, larger ones are slower",
        "In every case every step of B from the smallest to the best makes the area smaller by more than 1%, "
        "and every step beyond makes it larger by as much.",
        "3c-loss",
        figure_3.BATCH_SIZE.bherd,
        lambda at: chain(results, at, results.scale.svm.batch_sizes, (10, 10, 50)),
    )


def few_clients(results: Results) -> Claim:
    """One client, then five."""

    def measure(at: At) -> Finding:
        pairs = ((1, 5), (5, 10), (5, 15), (5, 20))
        return finding(
            [
                faster(
                    results.areas(at(case, few)),
                    results.areas(at(case, many)),
                    CASE_NAMES[case],
                    f"{few} against {many}:",
                )
                for case in CASES
                for few, many in pairs
            ]
        )

    rule = "In every case the area of N = 1 is smaller than that of N = 5, and that of N = 5 than those of "
    return beside_controls(
        results,
        "N = 1 is fastest, then N = 5",
        rule + "10, 15 and 20, each by more than 1%.",
        "3d-loss",
        figure_3.CLIENTS.bherd,
        measure,
    )


def reshuffling(results: Results) -> Claim:
    """A new order every epoch against one order."""
    return beside_controls(
        results,
        "reshuffling matters little",
        EQUAL,
        "4e",
        figure_4e.bherd,
        lambda at: by_case(results, [(at(case, True), at(case, False)) for case in CASES], equal),
    )


def sweep_claims(results: Results) -> list[Claim]:
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
