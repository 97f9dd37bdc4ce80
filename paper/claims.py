"""The claims about methods (figures 2a, 2b): what is compared with what, and by which rule."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from paper.bounds import BySeed, Part, equal, faster, larger
from paper.grid import CASES, Case, Curve, Step, make_curve, plain_at_same_step, with_selector
from paper.measures import CALM
from paper.results import Results
from paper.scales import Workload
from paper.verdict import NOT_RUN, Claim, Finding
from paper.wording import percent, times

PROBLEMS = {"svm-mnist": "SVM + MNIST", "cnn-mnist": "CNN + MNIST", "cnn-cifar10": "CNN + CIFAR-10"}
Measure = Callable[[Step], Finding]
Compare = Callable[[BySeed, BySeed, str, str], Part]
CASE_NAMES: dict[Case, str] = {"case1": "case 1", "case2": "case 2", "case3": "case 3"}
FASTER = "In every case the area is smaller by more than 1%."
NO_FASTER = (
    "Two-sided, so the verdict says which: equal if in every case the whole difference in area lies within "
    "±1%, slower (or faster) if in some case it lies above +1% (or below −1%)."
)
MOST = (
    "{winner} gains: BHerd's area is smaller by more than 1% there (the geometric mean of the three cases), "
    "and the gain is larger than that on {loser} by more than 1%."
)
TWICE = (
    "It oscillates more than twice as much: what the loss goes back and forth in its second half (total "
    f"variation less net change, per round, relative to its height; less than {100 * CALM:g}% counts as "
    "that)."
)


def make_claim(
    results: Results,
    text: str,
    rule: str,
    picture: str,
    measure: Measure,
    controls: Sequence[tuple[str, Finding]] = (),
    *,
    equation_only: bool = False,
) -> Claim:
    """Measure a claim under both steps; controls that were not run are left out."""
    amplified = NOT_RUN if equation_only else measure("amplified")
    known = tuple((name, found) for name, found in controls if found.parts)
    scale = results.scale
    return Claim(text, rule, picture, measure("equation"), amplified, scale.name, scale.conclusive, known)


def finding(parts: Sequence[Part], note: str = "") -> Finding:
    """A finding of these parts, or none where one of them was not run."""
    return Finding(tuple(parts), note=note) if all(part.n for part in parts) else NOT_RUN


def by_case(results: Results, pairs: Sequence[tuple[Curve, Curve]], compare: Compare) -> Finding:
    """One comparison of areas for each case."""
    return finding(
        [
            compare(results.areas(a), results.areas(b), CASE_NAMES[case], "")
            for case, (a, b) in zip(CASES, pairs, strict=True)
        ]
    )


def faster_than_plain(results: Results, workload: Workload, server: str, text: str) -> Claim:
    """BHerd on a server against the server alone, as the paper compares them."""

    def measure(step: Step) -> Finding:
        pairs = [
            (make_curve(workload, c, f"bherd-{server}", step=step), make_curve(workload, c, server))
            for c in CASES
        ]
        return by_case(results, pairs, faster)

    figure = "2a" if server == "fedavg" else f"2b-{server}"
    controls = same_step(results, workload, server)
    return make_claim(results, text, FASTER, f"{figure}-{workload.name}", measure, controls)


def same_step(results: Results, workload: Workload, server: str) -> list[tuple[str, Finding]]:
    """BHerd against its controls in the same order and at the same step."""
    found = []
    for step in ("equation", "amplified"):
        bherd = [make_curve(workload, case, f"bherd-{server}", step=_step(step)) for case in CASES]
        for name, control in (("all gradients", plain_at_same_step), ("a random share", _random)):
            pairs = [(curve, control(workload, curve)) for curve in bherd]
            found.append(
                (
                    f"{step}, against {name} in the same order at the same step",
                    by_case(results, pairs, faster),
                )
            )
    return found


def _step(step: str) -> Step:
    return "amplified" if step == "amplified" else "equation"


def _random(workload: Workload, curve: Curve) -> Curve:
    return with_selector(workload, curve, "random")


def grab_no_faster(results: Results, workload: Workload) -> Claim:
    """GraB against FedAvg: equal, slower or faster."""

    def measure(step: Step) -> Finding:
        pairs = [
            (make_curve(workload, case, "grab-fedavg", step=step), make_curve(workload, case, "fedavg"))
            for case in CASES
        ]
        return replace(by_case(results, pairs, equal), two_sided=True)

    return make_claim(
        results,
        f"GraB is no faster than FedAvg on {PROBLEMS[workload.name]}",
        NO_FASTER,
        f"2a-{workload.name}",
        measure,
        [("with a step lengthened by 1/α_t", measure("amplified"))],
        equation_only=True,
    )


def rougher(results: Results, a: Curve, b: Curve, factor: float, case: str) -> Part:
    """Whether one curve oscillates more than `factor` times as much as another."""
    ours, theirs = results.oscillations(a), results.oscillations(b)
    found = larger(ours, theirs, factor, case)
    if not found.n:
        return found
    text = f"{_typical(ours)} against {_typical(theirs)}, {times(found.difference)}"
    return found._replace(text=text)


def _typical(values: BySeed) -> str:
    """The geometric mean, in per cent of the curve's height per round."""
    finite = [math.log(value) for value in values.values() if math.isfinite(value)]
    lost = len(values) - len(finite)
    mean = f"{100 * math.exp(sum(finite) / len(finite)):.2g}%" if finite else "–"
    return mean + (f" ({lost} diverged)" if lost else "")


def cifar_oscillates(results: Results) -> Claim:
    """BHerd against FedAvg in case 3."""
    cifar = results.scale.cnn_cifar

    def measure(step: Step) -> Finding:
        bherd = make_curve(cifar, "case3", "bherd-fedavg", step=step)
        return finding([rougher(results, bherd, make_curve(cifar, "case3", "fedavg"), 2.0, "case 3")])

    text = "BHerd oscillates on CNN + CIFAR-10, case 3 (against FedAvg)"
    return make_claim(results, text, TWICE, "2a-cnn-cifar10", measure)


def calmer_scaffold(results: Results) -> Claim:
    """BHerd-SCAFFOLD against BHerd-FedAvg in case 3."""
    cifar = results.scale.cnn_cifar

    def measure(step: Step) -> Finding:
        rough, calm = (
            make_curve(cifar, "case3", name, step=step) for name in ("bherd-fedavg", "bherd-scaffold")
        )
        return finding([rougher(results, rough, calm, 1.0, "case 3")])

    return make_claim(
        results,
        "BHerd-SCAFFOLD oscillates less than BHerd-FedAvg (CNN + CIFAR-10, case 3)",
        "BHerd-FedAvg's oscillation is the larger one; the ratio is BHerd-FedAvg's over BHerd-SCAFFOLD's.",
        "2b-scaffold-cnn-cifar10",
        measure,
    )


def most_on(results: Results, server: str, text: str, *, on_svm: bool) -> Claim:
    """Whether BHerd gains on a server, and more so on the SVM than on both CNNs, or the other way round."""
    scale = results.scale

    def overall(workload: Workload, method: str, step: Step) -> BySeed:
        """The geometric mean of the areas of the three cases, seed by seed; infinite where one is lost."""
        each = [results.areas(make_curve(workload, case, method, step=step)) for case in CASES]
        seeds = each[0].keys() & each[1].keys() & each[2].keys()
        return {seed: math.exp(sum(math.log(one[seed]) for one in each) / len(each)) for seed in seeds}

    def measure(step: Step) -> Finding:
        sides = {
            w.name: (overall(w, f"bherd-{server}", step), overall(w, server, step)) for w in scale.workloads
        }
        gains = {name: faster(*pair, what=f"{PROBLEMS[name]}:") for name, pair in sides.items()}
        svm, cnns = [scale.svm.name], [scale.cnn_mnist.name, scale.cnn_cifar.name]
        winners, losers = (svm, cnns) if on_svm else (cnns, svm)
        parts = [gains[name] for name in winners]
        for winner in winners:
            for loser in losers:
                part = faster(
                    _product(sides[winner][0], sides[loser][1]),
                    _product(sides[loser][0], sides[winner][1]),
                    what=f"{PROBLEMS[winner]} against {PROBLEMS[loser]}:",
                )
                parts.append(part._replace(text=percent(part.difference)))
        note = "; ".join(f"{PROBLEMS[name]}: {gains[name].text}" for name in losers)
        return finding(parts, note=f"{note}.")

    winner, loser = ("The SVM", "either CNN") if on_svm else ("Each CNN", "the SVM")
    picture = f"2b-{server}-{'svm-mnist' if on_svm else 'cnn-mnist'}"
    return make_claim(results, text, MOST.format(winner=winner, loser=loser), picture, measure)


def _product(a: BySeed, b: BySeed) -> BySeed:
    return {seed: a[seed] * b[seed] for seed in a.keys() & b.keys()}


def speed_claims(results: Results) -> list[Claim]:
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
    rows.append(most_on(results, "fednova", "BHerd helps FedNova most on the SVM", on_svm=True))
    rows.append(most_on(results, "scaffold", "BHerd helps SCAFFOLD most on the CNN", on_svm=False))
    rows.append(calmer_scaffold(results))
    return rows
