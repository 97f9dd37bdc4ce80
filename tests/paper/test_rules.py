"""The rules of the claims, from made-up numbers on either side of each of them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bherd.statistics import Band, holm
from paper import claims, claims_sweeps, claims_within, figure_3, figure_4d
from paper.bounds import equal, faster, larger
from paper.claim_page import claim_sections, claim_table, write_claims
from paper.grid import CASES, STEPS, Curve, make_curve
from paper.results import Results
from paper.scales import make_scale
from paper.tables import ClaimRow, ConcentrationRow, RunRow, TheoremRow, read_rows
from paper.verdict import Claim, Finding, judge

QUICK = make_scale("quick", cifar=True)
SVM, CNN, CIFAR = QUICK.workloads
SEEDS = range(5)


def runs(curve: Curve, area: float, *, spread: float = 0.001, oscillation: float = 0.0) -> list[RunRow]:
    """Five runs around an area, whose logarithms lie symmetrically about it."""
    values = [area * math.exp(spread * (seed - 2)) for seed in SEEDS]
    return [
        RunRow(curve.key, s, 0, v, v, v, 0.9, v, oscillation, 10.0)
        for s, v in zip(SEEDS, values, strict=True)
    ]


def made_of(*found: list[RunRow]) -> Results:
    return Results(QUICK, {}, {rows[0].key: rows for rows in found}, {}, {}, {}, {}, [])


def verdict(claim: Claim) -> str:
    (judged,) = judge([claim])
    return judged.verdict


def by_seed(values: Sequence[float]) -> dict[int, float]:
    return dict(enumerate(values))


ONES = by_seed([1.0] * 5)


def around(ratio: float, spread: float) -> dict[int, float]:
    return by_seed([ratio * math.exp(spread * step) for step in (-2, -1, 0, 1, 2)])


@pytest.mark.parametrize(
    ("ratio", "spread", "met", "refuted"),
    [
        (0.95, 0.001, True, False),
        (0.985, 0.001, True, False),
        (0.995, 0.001, False, True),  # faster than all of chance, but by less than the margin
        (1.05, 0.001, False, True),
        (0.95, 0.1, False, False),
    ],
)
def test_faster_means_beyond_the_margin(ratio: float, spread: float, met: bool, refuted: bool) -> None:
    part = faster(around(ratio, spread), ONES)
    assert (part.met < 0.05, part.refuted < 0.05) == (met, refuted)


@pytest.mark.parametrize(
    ("ratio", "spread", "met", "refuted"),
    [
        (1.0, 0.001, True, False),
        (1.008, 0.0005, True, False),
        (1.012, 0.0005, False, True),
        (0.985, 0.0005, False, True),
        (1.0, 0.02, False, False),  # not shown to differ is not shown to be equal
    ],
)
def test_equal_means_all_within_the_margin(ratio: float, spread: float, met: bool, refuted: bool) -> None:
    part = equal(around(ratio, spread), ONES)
    assert (part.met < 0.05, part.refuted < 0.05) == (met, refuted)


def test_a_part_agrees_with_its_interval() -> None:
    for ratio in (1.9, 2.0, 2.1, 2.5):
        part = larger(around(ratio, 0.05), ONES, 2.0)
        low, high = part.difference.interval[1:3]
        assert (part.met < 0.05) == (1 + low > 2)
        assert (part.refuted < 0.05) == (1 + high < 2)


def grab(*areas: float, spread: float = 0.001) -> Results:
    found = []
    for case, area in zip(CASES, areas, strict=True):
        found.append(runs(make_curve(CNN, case, "fedavg"), 1.0, spread=0.0))
        found.append(runs(make_curve(CNN, case, "grab-fedavg"), area, spread=spread))
    return made_of(*found)


@pytest.mark.parametrize(
    ("areas", "spread", "expected"),
    [
        ((1.0, 1.0, 1.0), 0.001, "equal within 1%"),
        ((1.09, 1.43, 1.85), 0.001, "slower"),
        ((1.0, 1.0, 0.5), 0.001, "faster"),
        ((1.0, 1.5, 0.5), 0.001, "slower in one case, faster in another"),
        ((1.0, 1.0, 1.0), 0.1, "inconclusive"),
    ],
)
def test_no_faster_is_two_sided(areas: tuple[float, float, float], spread: float, expected: str) -> None:
    assert verdict(claims.grab_no_faster(grab(*areas, spread=spread), CNN)) == expected


def gains(svm: float, cnn: float, cifar: float, *, spread: float = 0.001) -> Results:
    """BHerd's area over FedNova's on the three problems, the same in all cases and at both steps."""
    found = []
    for workload, area in zip((SVM, CNN, CIFAR), (svm, cnn, cifar), strict=True):
        for case in CASES:
            found.append(runs(make_curve(workload, case, "fednova"), 1.0, spread=0.0))
            for step in STEPS:
                curve = make_curve(workload, case, "bherd-fednova", step=step)
                found.append(runs(curve, area, spread=spread))
    return made_of(*found)


@pytest.mark.parametrize(
    ("areas", "spread", "expected"),
    [
        ((0.9, 2.0, 1.02), 0.001, "holds"),
        ((0.9998, 2.0, 1.02), 0.001, "does not hold"),  # it helps nobody: a gain of 0.02% is none
        ((0.9, 0.8, 1.02), 0.001, "does not hold"),  # it helps another one more
        ((0.9, 0.905, 1.02), 0.001, "does not hold"),  # by less than the margin more
        ((0.9, 2.0, 1.02), 0.1, "inconclusive"),
    ],
)
def test_most_needs_a_gain(areas: tuple[float, float, float], spread: float, expected: str) -> None:
    claim = claims.most_on(gains(*areas, spread=spread), "fednova", "claim", on_svm=True)
    assert verdict(claim) == expected


@pytest.mark.parametrize(
    ("areas", "expected"),
    [
        ((0.95, 0.8, 0.85), "holds"),
        ((1.2, 1.1, 1.1), "does not hold"),  # the least harm is no help
        ((0.9, 0.8, 0.95), "does not hold"),
    ],
)
def test_most_on_the_cnn_means_on_both(areas: tuple[float, float, float], expected: str) -> None:
    assert verdict(claims.most_on(gains(*areas), "fednova", "claim", on_svm=False)) == expected


def rough(values: Sequence[float], base: float) -> Results:
    cases = make_curve(CIFAR, "case3", "fedavg")
    found = [runs(cases, 1.0, oscillation=base)]
    for step in STEPS:
        rows = runs(make_curve(CIFAR, "case3", "bherd-fedavg", step=step), 1.0)
        found.append([replace(row, oscillation=value) for row, value in zip(rows, values, strict=True)])
    return made_of(*found)


@pytest.mark.parametrize(
    ("values", "base", "expected"),
    [
        # a mean of 0.3 with one seed of 1.2: by differences p = 0.2, by ratios beyond doubt
        ((0.05, 0.08, 0.06, 0.1, 1.2), 0.0005, "holds"),
        ((0.00095, 0.00098, 0.00094, 0.00099, 0.00097), 0.0005, "does not hold"),
        ((0.0009, 0.0004, 0.003, 0.0005, 0.002), 0.0005, "inconclusive"),
        ((1e-6, 2e-6, 1e-6, 2e-6, 1e-6), 0.0, "does not hold"),  # more than nothing, and still nothing
        ((0.05, 0.08, 0.06, 0.1, 0.07), 0.0, "holds"),
    ],
)
def test_oscillation_is_compared_by_ratios(values: Sequence[float], base: float, expected: str) -> None:
    assert verdict(claims.cifar_oscillates(rough(values, base))) == expected


@pytest.mark.parametrize(
    ("twice", "expected"), [(0.0, "does not hold"), (0.00005, "does not hold"), (0.001, "holds")]
)
def test_epochs_oscillate_beyond_what_is_calm(twice: float, expected: str) -> None:
    found = []
    for case in CASES:
        for step in STEPS:
            found.append(runs(figure_3.EPOCHS.bherd(SVM, case, step, 1.0), 1.0))
            found.append(runs(figure_3.EPOCHS.bherd(SVM, case, step, 2.0), 1.0, oscillation=twice))
    assert verdict(claims_sweeps.epochs_oscillate(made_of(*found))) == expected


@pytest.mark.parametrize(
    ("above", "spread", "expected"),
    [(1.3, 0.001, "holds"), (1.05, 0.001, "does not hold"), (1.12, 0.1, "inconclusive")],
)
def test_failing_is_ending_above_the_lowest_loss(above: float, spread: float, expected: str) -> None:
    found = []
    for case in CASES:
        for step in STEPS:
            rows = runs(figure_3.ALPHA.bherd(SVM, case, step, 0.1), above, spread=spread)
            found.append([replace(row, best_loss=1.0) for row in rows])
    assert verdict(claims_sweeps.alpha_fails(made_of(*found))) == expected


@pytest.mark.parametrize(("level", "expected"), [(0.7, "holds"), (0.3, "does not hold")])
def test_concentration_lies_above_a_half(level: float, expected: str) -> None:
    rows = {}
    for case in CASES:
        for step in STEPS:
            key = make_curve(SVM, case, "bherd-fedavg", step=step).key
            rows[key] = [ConcentrationRow(key, s, c, level + 0.01 * s) for s in SEEDS for c in range(5)]
    results = replace(made_of(runs(make_curve(SVM, "case1", "fedavg"), 1.0)), concentrations=rows)
    assert verdict(claims_within.concentrated(results)) == expected


def distances(own: float, fall: float, spread: float, client5: float = 1.0) -> Results:
    """A random half at distance 1 in every round, BHerd's at `own` and falling to a part of that."""
    found, configurations = {}, {}
    for curve in figure_4d.curves(QUICK):
        herds = curve.settings.method == "bherd-fedavg"
        mean = np.linspace(own, own * fall, 100) if herds else np.ones(100)
        found[curve.key] = {
            client: Band(level * mean, level * mean * (1 - spread), level * mean * (1 + spread))
            for client, level in enumerate((1.0, 1.0, 1.0, 1.0, client5 if herds else 1.0))
        }
        configurations[curve.key] = runs(curve, 1.0)[0]
        object.__setattr__(configurations[curve.key], "n", 5)
    base = made_of(runs(make_curve(SVM, "case1", "fedavg"), 1.0))
    return replace(base, distances=found, configurations=configurations)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("own", "fall", "spread", "expected"),
    [
        (0.4, 0.8, 0.01, "holds"),
        (0.6, 0.8, 0.01, "does not hold"),
        (0.4, 1.2, 0.01, "does not hold"),
        (0.4, 0.8, 0.3, "inconclusive"),
    ],
)
def test_distances_are_small_and_fall(own: float, fall: float, spread: float, expected: str) -> None:
    assert verdict(claims_within.distances(distances(own, fall, spread))) == expected


def test_clients_apart_are_all_larger() -> None:
    assert verdict(claims_within.apart_in_case_3(distances(0.4, 0.8, 0.01, client5=0.7))) == "does not hold"
    assert verdict(claims_within.apart_in_case_3(distances(0.4, 0.8, 0.3))) == "inconclusive"


def theorem(seeds: int, *, violated: bool = False) -> Results:
    rows = [
        TheoremRow(case, step, "within", seed, 1e-6, 50, 1.0, 1.0, 1.0, 120, 1.0, 99.0, True, 1.0, 2.0, True)
        for case in CASES
        for step in STEPS
        for seed in range(seeds)
    ]
    rows[0] = replace(rows[0], holds=not violated)
    return replace(made_of(runs(make_curve(SVM, "case1", "fedavg"), 1.0)), theorem=rows)


def test_the_theorem_counts_seeds_and_not_cases() -> None:
    assert claims_within.theorem(theorem(1)).n == 1
    assert verdict(claims_within.theorem(theorem(1))) == "not testable at this scale"
    assert verdict(claims_within.theorem(theorem(3))) == "holds"
    assert verdict(claims_within.theorem(theorem(3, violated=True))) == "holds only with the amplified step"


def single(p_met: float, p_refuted: float) -> Finding:
    part = faster(around(0.9, 0.001), ONES)
    return Finding((part._replace(met=p_met, refuted=p_refuted),))


def claim(equation: Finding, amplified: Finding) -> Claim:
    return Claim("claim", "rule", "", equation, amplified, "quick", conclusive=True)


@pytest.mark.parametrize(
    ("equation", "amplified", "expected"),
    [
        ((0.001, 1.0), (0.001, 1.0), "holds"),
        ((1.0, 0.001), (0.001, 1.0), "holds only with the amplified step"),
        ((0.001, 1.0), (1.0, 0.001), "holds only with the equation's step"),
        ((1.0, 0.001), (1.0, 0.001), "does not hold"),
        ((0.2, 1.0), (1.0, 0.3), "inconclusive"),
        ((0.024, 1.0), (0.064, 1.0), "holds with the equation's step; inconclusive with the amplified step"),
        (
            (1.0, 0.001),
            (0.4, 1.0),
            "does not hold with the equation's step; inconclusive with the amplified step",
        ),
    ],
)
def test_what_is_not_shown_is_inconclusive(
    equation: tuple[float, float], amplified: tuple[float, float], expected: str
) -> None:
    assert verdict(claim(single(*equation), single(*amplified))) == expected


def test_all_claims_are_one_family() -> None:
    lone = [claim(single(p, 1.0), Finding()) for p in (0.024, 0.04, 0.3)]
    assert [verdict(one) for one in lone] == ["holds", "holds", "inconclusive"]
    together = judge(lone)
    assert [one.verdict for one in together] == ["inconclusive"] * 3
    assert [one.corrected[0] for one in together] == pytest.approx(holm([0.024, 0.04, 0.3]))
    assert all(math.isnan(one.corrected[1]) for one in together)


def test_many_parts_do_not_make_a_claim_easier_to_refute() -> None:
    part = single(1.0, 0.02).parts[0]
    assert verdict(claim(Finding((part,)), Finding())) == "does not hold"
    easy = part._replace(met=0.001, refuted=1.0)
    assert verdict(claim(Finding((part, easy, easy)), Finding())) == "inconclusive"
    assert Finding((part, easy)).met == 1.0  # the weakest part decides


def test_every_claim_prints_its_rule_its_interval_and_its_p(tmp_path: Path) -> None:
    judged = judge([claims.grab_no_faster(grab(1.0, 1.5, 1.0), CNN)])
    table, text = claim_table(judged), claim_sections(judged, tmp_path, tmp_path / "page.md")
    assert "**slower**" in table
    assert "Two-sided, so the verdict says which" in text
    assert "+50.0% [" in text
    assert "(slower)" in text
    assert "(equal)" in text
    assert "p < 0.0001 | slower |" in text
    write_claims(tmp_path, judged)
    rows = read_rows(tmp_path / "claims.csv", ClaimRow)
    assert [(row.case, row.outcome) for row in rows] == [(f"case {n}", "slower") for n in (1, 2, 3)]
    assert rows[1].difference == pytest.approx(0.5)
