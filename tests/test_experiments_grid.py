"""Which runs the figures need, which of them are the same run, and their controls."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bherd.errors import InputError
from bherd.experiments import (
    contrast,
    eta,
    figure_3a,
    figure_3c,
    figure_3d,
    figure_step,
    panels,
    rates,
    style,
)
from bherd.experiments.catalogue import EXPERIMENTS, choose, curves_of
from bherd.experiments.data import draw, write_subset
from bherd.experiments.estimate import correction, cost, peak_bytes
from bherd.experiments.grid import (
    CASES,
    Curve,
    controlled,
    make_curve,
    plain_at_same_step,
    unique,
    with_selector,
)
from bherd.experiments.results import Results
from bherd.experiments.scales import ETAS, SCALE_NAMES, WORKLOADS, Subset, make_scale
from bherd.selectors.herding import herding_order
from bherd.selectors.reversed_herding import reversed_herding
from bherd.tasks.datasets import load_dataset

PAPER = make_scale("paper", cifar=True)
SVM = PAPER.svm


def test_the_papers_settings() -> None:
    config = make_curve(SVM, "case2", "bherd-fedavg").config
    assert (config.train.rounds, config.train.batch_size, config.train.lr) == (500, 100, 1e-4)
    assert (config.method.alpha, config.task.clients, SVM.seeds) == (0.5, 5, 10)
    assert config.train.reshuffle is False
    assert make_curve(SVM, "case2", "fedavg").config.train.reshuffle is True


def test_what_cannot_matter_does_not_make_another_run() -> None:
    assert make_curve(SVM, "case1", "fedavg", alpha=0.3, step="amplified") == make_curve(
        SVM, "case1", "fedavg"
    )
    one = figure_3a.bherd(SVM, "case1", "equation", 1.0)
    assert one.key == figure_3a.bherd(SVM, "case1", "amplified", 1.0).key
    alone = {figure_3d.bherd(SVM, case, "equation", 1).key for case in CASES}
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


def test_seeds_share_a_key_and_differ_in_the_seed() -> None:
    curve = make_curve(SVM, "case1", "bherd-fedavg")
    assert curve.seeded(3).run.seed == 3
    assert Curve(curve.workload, curve.seeded(3)).key == curve.key


def test_controls_have_the_same_step_and_order() -> None:
    bherd = make_curve(SVM, "case3", "bherd-fedavg", alpha=0.3, step="amplified", epochs=2.0)
    plain, chance = plain_at_same_step(SVM, bherd), with_selector(SVM, bherd, "random")
    assert plain.config.method.name == "fedavg"
    assert plain.config.method.server_lr == pytest.approx(2.0 / 0.3)
    assert plain.config.train == bherd.config.train
    assert chance.config.method.name == "random-fedavg"
    assert (chance.config.method.alpha, chance.config.method.step) == (0.3, "amplified")
    assert chance.config.train == bherd.config.train
    equation = make_curve(SVM, "case3", "bherd-fedavg", alpha=0.3)
    assert plain_at_same_step(SVM, equation).config.method.server_lr == 1.0
    assert len(controlled(SVM, bherd)) == 3
    assert controlled(SVM, equation) == [equation]


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
    costs = [cost(scale, c.workload, c.config) for c in curves]
    assert all(c.seconds > 0 and c.bytes > 0 for c in costs)
    assert peak_bytes(costs, 4) > peak_bytes(costs, 1)


def test_reversed_herding_keeps_the_end_of_the_order() -> None:
    trace = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kept = reversed_herding(0.34).select(trace, np.random.default_rng(0))
    assert kept.tolist() == herding_order(trace, 9).tolist()[:-4:-1]


def test_one_run_that_was_held_up_does_not_spoil_the_estimate() -> None:
    assert correction([], []) == 1.0
    assert correction([1.0, 2.0, 1.0], [1.5, 3.0, 3600.0]) == 1.5


def test_a_saved_svg_is_short_and_the_same_picture(tmp_path: Path) -> None:
    figure, ((axes,),) = panels.sheet(1, 1)
    figure.set_layout_engine("none")  # which moves a little from one drawing to the next
    axes.plot(np.sqrt(np.arange(50)), gid="the-line")
    style.save_svg(figure, tmp_path / "short.svg")
    figure.savefig(tmp_path / "long.svg", metadata={"Date": None})
    found = []
    for name in ("short.svg", "long.svg"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        line = re.search(r'id="the-line">\s*<path d="([^"]*)"', text)
        assert line
        found.append([float(number) for number in re.findall(r"\d+\.?\d*", line[1])])
    short, long = found
    assert len(short) == len(long) == 100
    assert np.abs(np.array(short) - long).max() < 0.01
    assert (tmp_path / "short.svg").stat().st_size < (tmp_path / "long.svg").stat().st_size - 200


@pytest.mark.parametrize(
    ("spoilt", "chosen"),
    [
        (None, 0.4),
        ({"diverged_at": 3}, 0.2),
        ({"tail_loss": 0.56}, 0.2),
        ({"tail_loss": 2.3, "best_loss": 2.29}, 0.2),  # calm, since it does nothing any more
    ],
)
def test_the_largest_stable_rate(spoilt: dict[str, float] | None, chosen: float) -> None:
    workload = make_scale("quick", cifar=True).cnn_mnist
    good = {"diverged_at": 0, "tail_loss": 0.5, "best_loss": 0.5}
    runs = {
        eta.fedavg(workload, case, rate).key: [SimpleNamespace(seed=seed, **good) for seed in range(5)]
        for case in CASES
        for rate in ETAS
    }
    if spoilt:
        runs[eta.fedavg(workload, "case3", 0.4).key][1] = SimpleNamespace(seed=1, **good | spoilt)
        runs[eta.fedavg(workload, "case2", 0.2).key][3] = SimpleNamespace(seed=3, **good | spoilt)
        runs[eta.fedavg(workload, "case2", workload.lr).key][4] = SimpleNamespace(seed=4, **good | spoilt)
    results: Any = SimpleNamespace(runs=runs, scale=make_scale("quick", cifar=True))
    assert eta.largest_stable(results, workload) == chosen  # the seeds after the third do not choose
    assert eta.later_seeds(results, workload) == (5 if spoilt else 6, 6)
    (note,) = eta.notes(results, workload)
    assert f"is {chosen:g} of 0.01, 0.03, 0.1, 0.2, 0.4; used: 0.1. With the later seeds" in note
    assert eta.notes(results, SVM) == []
    assert eta.largest_stable(SimpleNamespace(runs={}), workload) is None  # type: ignore[arg-type]


def test_captions_name_what_all_curves_share() -> None:
    nothing: Any = SimpleNamespace(configurations={})
    cnn = make_scale("quick", cifar=True).cnn_mnist
    rates = [eta.fedavg(cnn, "case1", rate) for rate in ETAS]
    terms = [
        Results.terms(nothing, SVM, figure_3d.curves(PAPER)),
        Results.terms(nothing, SVM, figure_3c.curves(PAPER)),
        Results.terms(nothing, cnn, rates),
    ]
    assert ["B=" in text for text in terms] == [True, False, True]
    assert ["eta" in text for text in terms] == [True, True, False]


def test_a_panel_says_what_diverged_and_the_legend_has_a_method_once() -> None:
    figure, (axes,) = panels.sheet(1, 2)
    lines = [panels.styled(make_curve(SVM, case, "scaffold")) for case in ("case1", "case2")]
    rows = {
        lines[0].curve.key: SimpleNamespace(n=7, diverged=0),
        lines[1].curve.key: SimpleNamespace(n=7, diverged=2),
    }
    results: Any = SimpleNamespace(configurations=rows)
    for one, line in zip(axes, lines, strict=True):
        one.plot([1, 2], label=line.label)
        panels.head(one, line.curve.config.task.partition, results, [line])
    panels.finish(figure, axes, "title", "caption")
    assert [[text.get_text() for text in one.texts] for one in axes] == [
        [],
        ["SCAFFOLD, reshuffled: 2 of 7 diverged"],
    ]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["SCAFFOLD, reshuffled"]


@pytest.mark.parametrize("means", [[0.02, 3000.0], [2.29, 2.31], [1.0, np.inf]])
def test_a_logarithmic_loss_shows_every_curve(means: list[float]) -> None:
    figure, ((axes,),) = panels.sheet(1, 1)
    axes.plot(means)
    panels.log_loss(axes, [np.array(means)])
    figure.canvas.draw()
    low, high = axes.get_ylim()
    assert axes.get_yscale() == "log"
    assert low < min(means)
    assert high > max(mean for mean in means if np.isfinite(mean))
    ticks = [tick.get_text() for tick in axes.get_yticklabels()]
    assert ticks
    assert not any("10^" in text for text in ticks)


def test_smaller_rates_share_their_runs_with_the_other_figures() -> None:
    quick = make_scale("quick", cifar=True)
    assert rates.rates(quick.cnn_mnist) == (0.01, 0.03, 0.1)
    assert rates.rates(quick.cnn_cifar) == (0.003, 0.01, 0.03)
    others = curves_of(choose(["2a", "eta"]), quick, ["cnn-mnist"])
    keys = {curve.key for curve in others}
    mine = [c for c in unique(rates.curves(quick)) if c.workload == "cnn-mnist"]
    assert len(mine) == 3 * 3 * 5
    assert sum(curve.key in keys for curve in mine) == 3 * 5 + 2 * 3  # all at 2a's rate, FedAvg at eta's
    assert rates.curves(PAPER) == []


def test_the_controls_of_a_smaller_rate_have_that_rate() -> None:
    cnn = make_scale("quick", cifar=True).cnn_cifar
    found = rates.rivals(cnn, "case3", 0.01)
    assert {curve.config.train.lr for curve in found} == {0.01}
    assert [curve.config.method.name for curve in found] == [
        "fedavg",
        "bherd-fedavg",
        "bherd-fedavg",
        "fedavg",
        "random-fedavg",
    ]
    assert (found.longer.config.method.server_lr, found.longer.config.train.reshuffle) == (2.0, False)
    assert contrast.rivals(cnn, found.amplified)[0] == found.fedavg
