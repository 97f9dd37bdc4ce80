"""Which runs the figures need, which of them are the same run, and their controls."""

import csv
from pathlib import Path

import numpy as np
import pytest
import torch

from bherd.algorithms.herding import herding_order
from bherd.errors import InputError
from bherd.selectors.reversed_herding import ReversedHerding
from bherd.tasks.datasets import load_dataset
from paper import (
    figure_3,
    figure_step,
)
from paper.catalogue import EXPERIMENTS, choose, curves_of
from paper.data import draw, write_subset
from paper.estimate import correction, cost, peak_bytes
from paper.grid import (
    CASES,
    Curve,
    controlled,
    make_curve,
    plain_at_same_step,
    unique,
    with_selector,
)
from paper.scales import SCALE_NAMES, WORKLOADS, Subset, make_scale

RESULTS = Path(__file__).parents[2] / "results"
PAPER = make_scale("paper", cifar=True)
SVM = PAPER.svm


def test_the_papers_settings() -> None:
    config = make_curve(SVM, "case2", "bherd-fedavg").config
    assert (config.train.rounds, config.train.batch_size, config.train.lr) == (500, 100, 1e-4)
    assert (config.method.alpha, config.task.clients, SVM.seeds) == (0.5, 5, 10)
    assert config.method.order == "fixed"
    assert make_curve(SVM, "case2", "fedavg").config.method.order == "reshuffled"


def test_what_cannot_matter_does_not_make_another_run() -> None:
    assert make_curve(SVM, "case1", "fedavg", alpha=0.3, step="amplified") == make_curve(
        SVM, "case1", "fedavg"
    )
    one = figure_3.ALPHA.bherd(SVM, "case1", "equation", 1.0)
    assert one.key == figure_3.ALPHA.bherd(SVM, "case1", "amplified", 1.0).key
    alone = {figure_3.CLIENTS.bherd(SVM, case, "equation", 1).key for case in CASES}
    assert len(alone) == 1
    assert len({make_curve(SVM, case, "centralized").key for case in CASES}) == 1


def test_what_matters_makes_another_run() -> None:
    keys = [
        make_curve(SVM, "case1", "bherd-fedavg").key,
        make_curve(SVM, "case2", "bherd-fedavg").key,
        make_curve(SVM, "case1", "bherd-fedavg", step="amplified").key,
        make_curve(SVM, "case1", "bherd-fedavg", reshuffle=True).key,
        make_curve(SVM, "case1", "bherd-fedavg", epochs=2.0).key,
        make_curve(SVM, "case1", "random-fedavg").key,
        make_curve(make_scale("quick", cifar=True).svm, "case1", "bherd-fedavg").key,
    ]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("name", SCALE_NAMES)
def test_different_configurations_have_different_keys(name: str) -> None:
    scale = make_scale(name, cifar=True)
    by_key: dict[str, Curve] = {}
    for experiment in EXPERIMENTS:
        for curve in experiment.curves(scale):
            assert by_key.setdefault(curve.key, curve) == curve


@pytest.mark.parametrize("name", ["quick", "paper"])
def test_the_published_results_are_found_under_the_keys_of_today(name: str) -> None:
    with (RESULTS / name / "configurations.csv").open(encoding="utf-8") as file:
        published = [row["key"] for row in csv.DictReader(file)]
    keys = {
        curve.key for experiment in EXPERIMENTS for curve in experiment.curves(make_scale(name, cifar=True))
    }
    assert published
    assert set(published) <= keys


def test_seeds_share_a_key_and_differ_in_the_seed() -> None:
    curve = make_curve(SVM, "case1", "bherd-fedavg")
    assert curve.seeded(3).run.seed == 3
    assert Curve(curve.workload, curve.seeded(3)).key == curve.key


def test_controls_have_the_same_step_and_order() -> None:
    bherd = make_curve(SVM, "case3", "bherd-fedavg", alpha=0.3, step="amplified", epochs=2.0)
    plain, chance = plain_at_same_step(SVM, bherd), with_selector(SVM, bherd, "random")
    assert plain.config.method.name == "fedavg"
    assert plain.config.method.server_lr == pytest.approx(2.0 / 0.3)
    assert (plain.config.train, plain.config.method.order) == (bherd.config.train, bherd.config.method.order)
    assert chance.config.method.name == "random-fedavg"
    assert (chance.config.method.alpha, chance.config.method.step) == (0.3, "amplified")
    assert (chance.config.train, chance.config.method.order) == (
        bherd.config.train,
        bherd.config.method.order,
    )
    equation = make_curve(SVM, "case3", "bherd-fedavg", alpha=0.3)
    assert plain_at_same_step(SVM, equation).config.method.server_lr == 1.0
    assert len(controlled(SVM, bherd)) == 3
    assert controlled(SVM, equation) == [equation, plain_at_same_step(SVM, equation)]
    assert plain_at_same_step(SVM, equation).config.method.order == "fixed"


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_every_amplified_curve_has_its_controls(experiment: object) -> None:
    (found,) = [e for e in EXPERIMENTS if e is experiment]
    if found.name in ("4a", "4b", "4c", "4d"):
        return  # these look into BHerd itself; its speed is compared in the other figures
    curves = unique(found.curves(PAPER))
    keys = {curve.key for curve in curves}
    for curve in curves:
        method = curve.config.method
        if method.name.startswith("bherd") and method.step == "amplified":
            workload = PAPER.workload(curve.workload)
            assert plain_at_same_step(workload, curve).key in keys
            assert with_selector(workload, curve, "random").key in keys


def test_the_grids_are_the_papers() -> None:
    def values(name: str, read: object) -> set[object]:
        (figure,) = choose([name])
        assert callable(read)
        return {read(c.config) for c in figure.curves(PAPER) if c.config.method.name == "bherd-fedavg"}

    assert values("3a", lambda c: c.method.alpha) == {0.1, 0.3, 0.5, 0.7, 1.0}
    assert values("3b", lambda c: c.train.epochs) == {0.1, 0.5, 1.0, 1.5, 2.0}
    assert values("3c", lambda c: c.train.batch_size) == {10, 50, 100, 500, 1000}
    assert values("3d", lambda c: c.task.clients) == {1, 5, 10, 15, 20}
    names = {c.config.method.name for c in figure_step.curves(PAPER)}
    assert names == {"fedavg", "bherd-fedavg", "random-fedavg", "reversed-fedavg"}


def test_figure_4_shares_its_runs_with_the_others() -> None:
    others = {c.key for e in choose(["step", "2a"]) for c in e.curves(PAPER)}
    for name in ("4a", "4b", "4c"):
        (figure,) = choose([name])
        curves = figure.curves(PAPER)
        assert {c.key for c in curves} <= others
        assert all(c.config.run.ledger for c in curves)
    ledgers = [c for c in curves_of(list(EXPERIMENTS), PAPER, list(WORKLOADS)) if c.config.run.ledger]
    assert len(ledgers) == 6


def test_unknown_figure_and_scale_are_refused() -> None:
    with pytest.raises(InputError, match="3f"):
        choose(["3f"])
    with pytest.raises(InputError, match="huge"):
        make_scale("huge", cifar=True)


def test_a_subset_is_balanced_and_the_same_each_time() -> None:
    labels = load_dataset("mnist-mini").y_train
    rows = draw(labels, 105, "train")
    assert np.array_equal(rows, draw(labels, 105, "train"))
    counts = np.bincount(labels[rows], minlength=10)
    assert counts.sum() == 105
    assert counts.max() - counts.min() <= 1
    assert len(np.unique(rows)) == 105


def test_a_subset_file_is_a_dataset(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = write_subset(Subset("mnist-mini", 30, 20), tmp_path_factory.mktemp("data"))
    loaded = load_dataset(str(path))
    assert (loaded.x_train.shape, loaded.x_test.shape) == ((30, 1, 28, 28), (20, 1, 28, 28))


@pytest.mark.parametrize("name", SCALE_NAMES)
def test_every_run_has_a_cost(name: str) -> None:
    scale = make_scale(name, cifar=False)
    curves = curves_of(list(EXPERIMENTS), scale, list(WORKLOADS))
    costs = [cost(scale, c) for c in curves]
    assert all(c.seconds > 0 and c.bytes > 0 for c in costs)
    assert peak_bytes(costs, 4) > peak_bytes(costs, 1)


def test_reversed_herding_keeps_the_end_of_the_order() -> None:
    trace = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kept = ReversedHerding(0.34).select(trace, np.random.default_rng(0))
    assert kept.indices.tolist() == herding_order(trace, 9).tolist()[:-4:-1]


def test_one_run_that_was_held_up_does_not_spoil_the_estimate() -> None:
    assert correction([], []) == 1.0
    assert correction([1.0, 2.0, 1.0], [1.5, 3.0, 3600.0]) == 1.5
