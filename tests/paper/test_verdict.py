"""Verdicts from made-up tables, whose outcome is plain."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bherd.errors import DamagedFileError
from bherd.statistics import Floats, paired_ratio
from paper import (
    claims,
    claims_sweeps,
    figure_2a,
    figure_3,
    figure_4e,
    rates,
    tables,
    targets,
)
from paper.collect import concentration
from paper.grid import CASES, STEPS, Curve, make_curve, with_selector
from paper.page import judge_claims
from paper.results import Results
from paper.scales import make_scale
from paper.sweep import sweep_curves
from paper.tables import ComparisonRow, RunRow, TheoremRow
from paper.verdict import Claim, judge
from paper.wording import percent

SCALE = make_scale("paper", cifar=True)
SVM = SCALE.svm
SEEDS = 5


def made_up(areas: dict[str, float], *, lost: frozenset[str] = frozenset(), seeds: int = SEEDS) -> Results:
    """Results in which each curve has this area, with a little noise that the seeds share in part."""
    runs = {}
    for key, area in areas.items():
        noise = np.random.default_rng(int(key, 16)).normal(0, 0.001, seeds)
        values = [area * (1 + 0.01 * seed + noise[seed]) for seed in range(seeds)]
        at = 7 if key in lost else 0
        runs[key] = [
            RunRow(
                key,
                seed,
                at,
                math.inf if at else v,
                math.inf if at else v,
                v,
                0.9,
                math.inf if at else v,
                0,
                10,
            )
            for seed, v in enumerate(values)
        ]
    return Results(SCALE, {}, runs, {}, {}, {}, {}, [])


def svm_areas(bherd: Callable[[Curve], float]) -> dict[str, float]:
    areas = {}
    for case in CASES:
        areas[make_curve(SVM, case, "fedavg").key] = 1.0
        for step in ("equation", "amplified"):
            curve = make_curve(
                SVM, case, "bherd-fedavg", step="amplified" if step == "amplified" else "equation"
            )
            areas[curve.key] = bherd(curve)
    return areas


def verdict(claim: Claim) -> str:
    """The verdict on a claim that is the only one."""
    (judged,) = judge([claim])
    return judged.verdict


def faster(results: Results) -> str:
    return verdict(claims.faster_than_plain(results, SVM, "fedavg", "claim"))


def test_faster_under_both_steps_holds() -> None:
    assert faster(made_up(svm_areas(lambda _: 0.9))) == "holds"


def test_faster_only_when_amplified() -> None:
    areas = svm_areas(lambda c: 0.9 if c.settings.step == "amplified" else 1.0)
    assert faster(made_up(areas)) == "holds only with the amplified step"


def test_a_difference_below_the_margin_is_none() -> None:
    assert faster(made_up(svm_areas(lambda _: 0.993))) == "does not hold"


def test_one_case_that_is_not_faster_spoils_it() -> None:
    areas = svm_areas(lambda c: 1.0 if c.settings.partition == "case3" else 0.8)
    assert faster(made_up(areas)) == "does not hold"


def test_lost_runs_are_not_fast() -> None:
    areas = svm_areas(lambda _: 0.5)
    bherd = frozenset(make_curve(SVM, case, "bherd-fedavg").key for case in CASES)
    # five lost runs of five are no more than p = 0.0625 by their signs
    few = "inconclusive with the equation's step; holds with the amplified step"
    assert faster(made_up(areas, lost=bherd)) == few
    assert faster(made_up(areas, lost=bherd, seeds=10)) == "holds only with the amplified step"


def test_missing_runs_are_not_testable() -> None:
    assert faster(made_up({})) == "not testable at this scale"
    every = judge_claims([made_up({})])
    assert {row.verdict for row in every} == {"not testable at this scale"}
    assert len({row.claim.text for row in every}) == len(every) > 20
    assert all(row.claim.rule for row in every)


def test_alpha_ever_faster_needs_every_step_down() -> None:
    def areas(order: dict[float, float]) -> dict[str, float]:
        return {
            figure_3.ALPHA.bherd(SVM, case, step, alpha).key: area
            for case in CASES
            for step in ("equation", "amplified")
            for alpha, area in order.items()
        }

    falling = areas({1.0: 1.0, 0.7: 0.9, 0.5: 0.8, 0.3: 0.7})
    assert verdict(claims_sweeps.alpha_faster(made_up(falling))) == "holds"
    bent = areas({1.0: 1.0, 0.7: 0.9, 0.5: 0.7, 0.3: 0.8})
    assert verdict(claims_sweeps.alpha_faster(made_up(bent))) == "does not hold"


def test_alpha_01_fails_if_most_runs_do() -> None:
    keys = [figure_3.ALPHA.bherd(SVM, c, s, 0.1).key for c in CASES for s in ("equation", "amplified")]
    steady = made_up(dict.fromkeys(keys, 1.0))
    assert verdict(claims_sweeps.alpha_fails(steady)) == "does not hold"
    amplified = frozenset(figure_3.ALPHA.bherd(SVM, c, "amplified", 0.1).key for c in CASES)
    lost = made_up(dict.fromkeys(keys, 1.0), lost=amplified, seeds=10)
    assert verdict(claims_sweeps.alpha_fails(lost)) == "holds only with the amplified step"


def test_alpha_01_shows_whether_its_controls_fail_too() -> None:
    curves = [figure_3.ALPHA.bherd(SVM, case, step, 0.1) for case in CASES for step in STEPS]
    random = [with_selector(SVM, curve, "random") for curve in curves if curve.settings.step != "equation"]
    keys = dict.fromkeys((curve.key for curve in [*curves, *random]), 1.0)
    claim = claims_sweeps.alpha_fails(made_up(keys, lost=frozenset(curve.key for curve in random)))
    assert verdict(claim) == "does not hold"
    ((name, found),) = claim.controls
    assert name == "a random share, amplified"
    assert [part.text for part in found.parts] == ["diverged or worse in more seeds, p=0.062"] * 3


def test_best_batch_is_not_testable_without_all_sizes() -> None:
    some = {figure_3.BATCH_SIZE.bherd(SVM, case, "equation", 10).key: 1.0 for case in CASES}
    assert verdict(claims_sweeps.best_batch(made_up(some))) == "not testable at this scale"


def test_the_controls_of_a_sweep_over_alpha_start_from_all_gradients() -> None:
    shares = {c.key: c.settings.share for c in sweep_curves(figure_3.ALPHA, SCALE)}
    found = {key: share for key, share in shares.items() if share in (1.0, 0.7, 0.5, 0.3)}
    row = claims_sweeps.alpha_faster(made_up(found))
    assert [name for name, _ in row.controls] == ["all gradients, amplified", "a random share, amplified"]
    assert all(found.parts[0].what == "1 → 0.7:" for _, found in row.controls)


def batch_areas(best: tuple[int, int, int]) -> dict[str, float]:
    """Areas that grow on both sides of the best batch size of each case, under both steps."""
    sizes = SVM.batch_sizes
    return {
        figure_3.BATCH_SIZE.bherd(SVM, case, step, size).key: 1.0
        + 0.2 * abs(sizes.index(size) - sizes.index(least))
        for case, least in zip(CASES, best, strict=True)
        for step in STEPS
        for size in sizes
    }


@pytest.mark.parametrize(
    ("best", "expected"),
    [((10, 10, 50), "holds"), ((10, 10, 10), "does not hold"), ((10, 50, 50), "does not hold")],
)
def test_the_best_batch_is_the_papers(best: tuple[int, int, int], expected: str) -> None:
    row = claims_sweeps.best_batch(made_up(batch_areas(best)))
    assert verdict(row) == expected
    assert [part.what for part in row.equation.parts[:4]] == [
        "10 → 50:",
        "50 → 100:",
        "100 → 500:",
        "500 → 1000:",
    ]
    assert row.controls == ()  # no control was run


def test_reshuffling_is_measured_for_the_controls_too() -> None:
    areas = {curve.key: 1.0 + 0.5 * curve.settings.reshuffle for curve in figure_4e.curves(SCALE)}
    for case in CASES:
        for step in STEPS:
            areas[figure_4e.bherd(SVM, case, step, reshuffle=True).key] = 1.0
    row = claims_sweeps.reshuffling(made_up(areas))
    assert verdict(row) == "holds"
    assert [name for name, _ in row.controls] == ["all gradients, amplified", "a random share, amplified"]
    for _, found in row.controls:
        assert [part.difference.interval.mean for part in found.parts] == pytest.approx([0.5] * 3, abs=0.01)


def test_percent_has_a_real_minus_and_an_interval() -> None:
    results = made_up(svm_areas(lambda _: 0.9))
    a, b = make_curve(SVM, "case1", "bherd-fedavg"), make_curve(SVM, "case1", "fedavg")
    text = percent(results.compare(a, b))
    assert text.startswith("−10.")
    assert text.endswith("]")


def test_concentration_of_fixed_and_of_even_choices() -> None:
    fixed: Floats = np.tile([1.0, 1.0, 0.0, 0.0], (10, 1))
    even: Floats = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert concentration(fixed) == pytest.approx(1.0)
    assert concentration(even) == 0.0


def test_rows_read_back_as_they_were(tmp_path: Path) -> None:
    rows = [
        TheoremRow(
            "case1", "equation", "x", 0, 1e-4, 5, 1.5, 0.5, 2.0, 3, 0.1, math.inf, True, 1.0, 2.0, False
        )
    ]
    tables.write_rows(tmp_path / "t.csv", TheoremRow, rows)
    assert tables.read_rows(tmp_path / "t.csv", TheoremRow) == rows
    assert tables.read_rows(tmp_path / "absent.csv", TheoremRow) == []
    with pytest.raises(DamagedFileError, match=r"t\.csv"):
        tables.read_rows(tmp_path / "t.csv", ComparisonRow)


def test_columns_read_back_as_they_were(tmp_path: Path) -> None:
    columns: dict[str, tables.Column] = {
        "key": np.array(["a"] * 300 + ["b"] * 300),
        "round": np.arange(600, dtype=np.int32),
        "loss": 1 / np.arange(1, 601),
    }
    columns["loss"][-2:] = math.nan, math.inf
    tables.write_columns(tmp_path / "t.parquet", columns)
    found = tables.read_columns(tmp_path / "t.parquet")
    assert {name: array.tolist() for name, array in found.items() if name != "loss"} == {
        name: array.tolist() for name, array in columns.items() if name != "loss"
    }
    np.testing.assert_array_equal(found["loss"], columns["loss"].astype(np.float32))


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        ([1.1, 1.1], [1.0, 1.0], "+10.0% [+10.0, +10.0]"),
        ([3.0, 3.0], [1.0, 1.0], "+200% [+200, +200]"),
        ([30.0, 3000.0, 300.0], [1.0, 10.0, 10.0], "× 65 [2.4, 1757]"),
        ([np.inf, 1.0], [np.inf, 1.0], "diverged or worse in as many seeds as the other"),
        ([np.inf, 2.0], [np.inf, 1.0], "diverged or worse in more seeds, p=1"),
        ([1.0, 1.0], [np.inf, np.inf], "the other diverged or was worse in more seeds, p=0.5"),
    ],
)
def test_differences_for_people(a: list[float], b: list[float], text: str) -> None:
    assert percent(paired_ratio(dict(enumerate(a)), dict(enumerate(b)))) == text


def test_the_table_of_smaller_rates() -> None:
    quick = make_scale("quick", cifar=True)
    areas = {
        curve.key: 0.9 if curve.settings.method == "bherd-fedavg" else 1.0
        for curve in rates.curves(quick)
        if curve.workload == "cnn-mnist"
    }
    results = replace(made_up(areas), scale=quick, configurations=dict.fromkeys(areas))  # type: ignore[arg-type]
    lines = rates.rate_table(results).splitlines()
    assert len(lines) == 2 + 3 * 3
    assert lines[2].startswith("| CNN, 1 000 samples of MNIST | case 1 (IID) | 0.01 | −10.")
    assert [len(re.findall(r"\| −(?:10|9)\.\d% \[", line)) for line in lines[2:]] == [4] * 9
    assert rates.rate_table(made_up({})) == ""


@pytest.mark.parametrize(
    ("reached", "rounds", "text"),
    [(10, 137.0, "137"), (8, 140.0, "140 (8 of 10)"), (2, math.inf, "– (2 of 10)")],
)
def test_rounds_to_a_target_for_people(reached: int, rounds: float, text: str) -> None:
    row: Any = SimpleNamespace(n=10, reached_target=reached, rounds_to_target=rounds)
    assert targets.rounds_cell(row) == text


def test_the_table_of_targets_leaves_out_what_was_not_run() -> None:
    row = SimpleNamespace(n=3, reached_target=3, rounds_to_target=7.0, target=0.9)
    keys = [curve.key for curve in figure_2a.case_curves(SVM, "case2")]
    results = replace(made_up({}), configurations=dict.fromkeys(keys, row))  # type: ignore[arg-type]
    head, _, *lines = targets.target_table(results).splitlines()
    assert "centralized" not in head
    assert lines == [f"| {SVM.title} | case 2 (labels apart) | 90.0% |" + " 7 |" * 8]
    assert targets.target_table(made_up({})) == ""
