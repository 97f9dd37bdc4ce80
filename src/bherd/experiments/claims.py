"""The claims of the paper, one function each: from the tables to a row of the verdict."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from bherd.experiments import figure_3a, figure_3b, figure_3c, figure_3d
from bherd.experiments.grid import CASES, Curve, Step, make_curve, plain_at_same_step, with_selector
from bherd.experiments.results import Results
from bherd.experiments.scales import Workload
from bherd.experiments.statistics import Comparison
from bherd.experiments.verdict import (
    NOT_RUN,
    Finding,
    Judged,
    is_beyond,
    is_equal,
    is_faster,
    judge,
    percent,
    signed,
)

PROBLEMS = {"svm-mnist": "SVM + MNIST", "cnn-mnist": "CNN + MNIST", "cnn-cifar10": "CNN + CIFAR-10"}
Measure = Callable[[Step], Finding]


def claim_row(
    results: Results, claim: str, measure: Measure, control: str = "", *, equation_only: bool = False
) -> Judged:
    """Measure a claim under both steps and judge it."""
    equation = measure("equation")
    amplified = NOT_RUN if equation_only else measure("amplified")
    verdict = judge(equation, amplified, results.scale.conclusive)
    return Judged(claim, equation, amplified, verdict, results.scale.name, control)


def by_case(found: Sequence[Comparison], rule: Callable[[Comparison], bool]) -> Finding:
    """One comparison for each case; the rule must be met in all of them."""
    if any(one.n == 0 for one in found):
        return NOT_RUN
    text = "; ".join(f"case {number}: {percent(one)}" for number, one in enumerate(found, start=1))
    return Finding(text, all(map(rule, found)), min(one.n for one in found))


def faster_than_plain(results: Results, workload: Workload, server: str, claim: str) -> Judged:
    """BHerd on a server against the server alone, as the paper compares them."""

    def measure(step: Step) -> Finding:
        pairs = [
            (make_curve(workload, c, f"bherd-{server}", step=step), make_curve(workload, c, server))
            for c in CASES
        ]
        return by_case([results.compare(a, b) for a, b in pairs], is_faster)

    return claim_row(results, claim, measure, same_step(results, workload, server))


def same_step(results: Results, workload: Workload, server: str) -> str:
    """BHerd with the amplified step against the two controls at that step."""
    parts = []
    for name, control in (("all gradients", plain_at_same_step), ("random", _random)):
        found = []
        for case in CASES:
            bherd = make_curve(workload, case, f"bherd-{server}", step="amplified")
            found.append(results.compare(bherd, control(workload, bherd)))
        if all(one.n for one in found):
            parts.append(f"against {name}: " + "; ".join(percent(one) for one in found))
    return ". ".join(parts)


def _random(workload: Workload, curve: Curve) -> Curve:
    return with_selector(workload, curve, "random")


def grab_no_faster(results: Results, workload: Workload) -> Judged:
    """GraB against FedAvg: the claim holds if it is faster in no case."""

    def measure(step: Step) -> Finding:
        found = [
            results.compare(
                make_curve(workload, case, "grab-fedavg", step=step), make_curve(workload, case, "fedavg")
            )
            for case in CASES
        ]
        return by_case(found, lambda one: not is_faster(one))

    longer = measure("amplified")
    control = f"GraB with a step lengthened by 1/α_t: {longer.text}" if longer.n else ""
    claim = f"GraB is no faster than FedAvg on {PROBLEMS[workload.name]}"
    return claim_row(results, claim, measure, control, equation_only=True)


def rougher(results: Results, a: Curve, b: Curve, factor: float) -> Finding:
    """Whether one curve oscillates more than `factor` times as much as another."""
    found = results.oscillates(a, b, factor)
    if found.n == 0:
        return NOT_RUN
    text = f"oscillation {results.oscillation(a):.2g} against {results.oscillation(b):.2g}, p={found.p:.2g}"
    return Finding(text, is_beyond(found), found.n)


def cifar_oscillates(results: Results) -> Judged:
    cifar = results.scale.cnn_cifar

    def measure(step: Step) -> Finding:
        bherd = make_curve(cifar, "case3", "bherd-fedavg", step=step)
        return rougher(results, bherd, make_curve(cifar, "case3", "fedavg"), 2.0)

    return claim_row(results, "BHerd oscillates on CNN + CIFAR-10, case 3 (against FedAvg)", measure)


def most_on(results: Results, server: str, claim: str, on_svm: bool) -> Judged:
    """Whether BHerd's gain on a server is larger on the SVM than on both CNNs, or the other way round."""

    def gain(workload: Workload, step: Step) -> Comparison | None:
        found = [
            results.compare(
                make_curve(workload, c, f"bherd-{server}", step=step), make_curve(workload, c, server)
            )
            for c in CASES
        ]
        return None if any(one.n == 0 for one in found) else min(found, key=lambda one: one.difference.mean)

    def measure(step: Step) -> Finding:
        scale = results.scale
        gains = [gain(w, step) for w in scale.workloads]
        if any(one is None for one in gains):
            return NOT_RUN
        svm, *cnns = (100 * one.difference.mean for one in gains if one is not None)
        text = f"best of the cases: SVM {signed(svm)}%, CNN {', '.join(f'{signed(c)}%' for c in cnns)}"
        met = all(svm < c for c in cnns) if on_svm else all(c < svm for c in cnns)
        return Finding(text, met, min(one.n for one in gains if one is not None))

    return claim_row(results, claim, measure)


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

    def measure(step: Step) -> Finding:
        texts, met, seeds = [], True, []
        for number, case in enumerate(CASES, start=1):
            rows = results.runs.get(figure_3a.bherd(svm, case, step, 0.1).key, [])
            if not rows:
                return NOT_RUN
            failed = sum(row.diverged_at > 0 or row.tail_loss > 1.1 * row.best_loss for row in rows)
            met = met and 2 * failed > len(rows)
            texts.append(f"case {number}: {failed} of {len(rows)} runs fail")
            seeds.append(len(rows))
        return Finding("; ".join(texts), met, min(seeds))

    return claim_row(results, "α = 0.1 fails to converge", measure)


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


def speed_claims(results: Results) -> list[Judged]:
    """Everything that is about how fast or how steadily a curve falls."""
    scale = results.scale
    rows = [
        faster_than_plain(results, w, "fedavg", f"BHerd is faster than FedAvg on {PROBLEMS[w.name]}")
        for w in scale.workloads
    ]
    rows += [grab_no_faster(results, workload) for workload in scale.workloads]
    rows.append(cifar_oscillates(results))
    for server, name in (("fednova", "FedNova"), ("scaffold", "SCAFFOLD")):
        rows += [
            faster_than_plain(results, w, server, f"BHerd helps {name} on {PROBLEMS[w.name]}")
            for w in scale.workloads
        ]
    rows.append(most_on(results, "fednova", "BHerd helps FedNova most on the SVM", True))
    rows.append(most_on(results, "scaffold", "BHerd helps SCAFFOLD most on the CNN", False))
    rows.append(_calmer_scaffold(results))
    rows += [alpha_one(results), alpha_faster(results), alpha_fails(results)]
    rows += [epochs_faster(results), epochs_oscillate(results), best_batch(results), few_clients(results)]
    return [*rows, reshuffling(results)]


def _calmer_scaffold(results: Results) -> Judged:
    cifar = results.scale.cnn_cifar

    def measure(step: Step) -> Finding:
        rough, calm = (
            make_curve(cifar, "case3", name, step=step) for name in ("bherd-fedavg", "bherd-scaffold")
        )
        return rougher(results, rough, calm, 1.0)

    return claim_row(
        results, "BHerd-SCAFFOLD oscillates less than BHerd-FedAvg (CNN + CIFAR-10, case 3)", measure
    )
