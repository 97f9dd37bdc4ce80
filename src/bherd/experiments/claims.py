"""The claims about methods (figures 2a, 2b): from the tables to rows of the verdict."""

from collections.abc import Callable, Sequence

from bherd.experiments.grid import CASES, Curve, Step, make_curve, plain_at_same_step, with_selector
from bherd.experiments.results import Results
from bherd.experiments.scales import Workload
from bherd.experiments.statistics import Comparison
from bherd.experiments.verdict import (
    NOT_RUN,
    Finding,
    Judged,
    is_beyond,
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


def speed_claims(results: Results) -> list[Judged]:
    """The comparisons of methods, figures 2a and 2b."""
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
    return rows


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
