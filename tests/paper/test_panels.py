"""How figures are put together: legends, scales, captions, what a dot and a bar are."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bherd.statistics import Band, paired_ratio
from paper import (
    dots,
    eta,
    figure_2a,
    figure_3,
    figure_4d,
    forest,
    heat,
    panels,
    style,
    sweep,
)
from paper.grid import CASES, make_curve
from paper.results import Results, Trajectory
from paper.scales import ETAS, make_scale
from paper.sweep import sweep_curves
from paper.tables import RunRow

PAPER = make_scale("paper", cifar=True)
SVM = PAPER.svm


def test_captions_name_what_all_curves_share() -> None:
    nothing: Any = SimpleNamespace(seed_range=lambda _curves: "0")
    cnn = make_scale("quick", cifar=True).cnn_mnist
    rates = [eta.fedavg(cnn, "case1", rate) for rate in ETAS]
    terms = [
        Results.terms(nothing, SVM, sweep_curves(figure_3.CLIENTS, PAPER)),
        Results.terms(nothing, SVM, sweep_curves(figure_3.BATCH_SIZE, PAPER)),
        Results.terms(nothing, cnn, rates),
    ]
    assert ["B=" in text for text in terms] == [True, False, True]
    assert ["eta" in text for text in terms] == [True, True, False]


def test_the_legend_has_a_method_once_and_the_caption_is_wrapped() -> None:
    figure, (axes,) = panels.sheet(1, 2)
    lines = [panels.styled(make_curve(SVM, case, "scaffold")) for case in CASES[:2]]
    for one, line in zip(axes, lines, strict=True):
        one.plot([1, 2], label=line.label)
    panels.finish(figure, axes, "title | terms", "word " * 60)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["SCAFFOLD, reshuffled"]
    assert max(map(len, legend.get_title().get_text().splitlines())) <= 122


@pytest.mark.parametrize("values", [[0.02, 3000.0], [2.29, 2.31], [1.0, np.inf]])
def test_a_logarithmic_axis_shows_every_value_in_plain_numbers(values: list[float]) -> None:
    figure, ((axes,),) = panels.sheet(1, 1)
    axes.plot(values)
    panels.plain_log(axes, np.array(values))
    figure.canvas.draw()
    low, high = axes.get_ylim()
    assert axes.get_yscale() == "log"
    assert low < min(values)
    assert high > max(value for value in values if np.isfinite(value))
    ticks = [tick.get_text() for tick in axes.get_yticklabels()]
    assert ticks
    assert not any("10^" in text for text in ticks)


def test_a_panel_says_that_curves_leave_it() -> None:
    _, ((axes,),) = panels.sheet(1, 1)
    axes.plot([0.2, 0.9])
    axes.set_ylim(0.1, 1.0)
    panels.tell_cut(axes)
    assert list(axes.texts) == []
    axes.set_ylim(0.1, 0.5)
    panels.tell_cut(axes)
    assert [text.get_text() for text in axes.texts] == ["cut off above"]


def test_type_is_readable_where_pages_are_830_pixels_wide() -> None:
    figure, _ = panels.sheet(2, 3)
    assert figure.get_size_inches()[0] * 100 == pytest.approx(830)
    assert style.RC["font.size"] * 100 / 72 >= 12


def effect(*seeds: float) -> forest.Effect:
    found = (
        paired_ratio(dict(enumerate(seeds)), dict.fromkeys(range(len(seeds)), 1.0)) if all(seeds) else NOTHING
    )
    return forest.Effect("a", found, "black", "o", True, seeds)


NOTHING = paired_ratio({}, {})


def test_ratios_are_geometric_means_and_lost_runs_are_crosses() -> None:
    _, ((axes,),) = panels.sheet(1, 1)
    whole, lost = effect(1.0, 10.0, 100.0), effect(2.0, 4.0, math.inf)
    forest.draw_ratios(axes, [whole, lost], forest.ratio_ends([whole, lost]))
    first = [(str(line.get_marker()), float(np.ravel(line.get_xdata())[0])) for line in axes.lines]
    assert [x for mark, x in first if mark == "o"] == pytest.approx([10.0])  # not 37, the arithmetic mean
    shown = [one for one in first if one[0] in ("x", "|")]
    assert ("x", 200.0) in shown  # at the end of the axis, beyond all that is finite
    assert ("|", 4.0) in shown  # the median
    assert axes.get_xlim()[1] > 200.0


def test_the_centre_of_runs_is_a_median_where_one_is_lost() -> None:
    assert dots.centre([1.0, 10.0, 100.0], geometric=True) == pytest.approx(10.0)
    assert dots.centre([1.0, 10.0, 100.0], geometric=False) == pytest.approx(37.0)
    assert dots.centre([1.0, 10.0, math.inf], geometric=True) == 10.0
    assert dots.centre([1.0, math.nan, math.inf], geometric=True) == math.inf


def test_dots_stay_on_the_stripe_of_their_rate() -> None:
    _, ((axes,),) = panels.sheet(1, 1)
    dots.stripes(axes, ["0.01", "0.03", "0.1"])
    for number in range(5):
        series = dots.Series("a", "black", "o", "-", [{0: 1.0, 3: 2.0}] * 3)
        dots.draw_series(axes, number, 5, series, geometric=True, hollow_from=3)
    places = np.array([x for line in axes.lines for x in np.asarray(line.get_xdata(), dtype=float)])
    assert np.abs(places - np.round(places)).max() < 0.3
    assert sum(line.get_markerfacecolor() == "white" for line in axes.lines) == 3 * 5


def test_blocks_have_the_mean_of_their_cells() -> None:
    share = np.arange(12.0).reshape(4, 3)
    assert heat.block_means(share, 2, 2).tolist() == [[2.0, 3.5], [8.0, 9.5]]
    assert heat.block_means(share, 1, 1).tolist() == share.tolist()


def test_ranges_keep_the_extremes_of_a_stretch() -> None:
    middle, low, mean, high = sweep.ranges(
        np.arange(1.0, 7.0), np.array([1.0, 9.0, 2.0, 5.0, 5.0, 5.0]), window=3
    )
    assert (middle.tolist(), low.tolist(), mean.tolist(), high.tolist()) == ([2, 5], [1, 5], [4, 5], [9, 5])


def test_a_running_mean_is_that_of_its_neighbours() -> None:
    assert figure_4d.running_mean(np.array([1.0, 2.0, 6.0, 3.0]), 3).tolist() == pytest.approx(
        [1.5, 3, 11 / 3, 4.5]
    )


def accuracies(level: float) -> Results:
    """FedAvg and BHerd on the CNN, which end at this accuracy in case 2 and well in the others."""
    quick = make_scale("quick", cifar=True)
    trajectories, rows, configurations = {}, {}, {}
    for case in CASES:
        for curve in figure_2a.case_curves(quick.cnn_cifar, case):
            end = level if case == "case2" else 0.5
            accuracy, loss = np.linspace(0.1, end, 5), np.ones(5)
            trajectories[curve.key] = Trajectory(np.arange(5), Band(loss, loss, loss), Band(*[accuracy] * 3))
            rows[curve.key] = [
                RunRow(curve.key, s, 0, 1.0, 1.0, 1.0, end, 1.0 + 0.1 * s, 0, 1) for s in range(3)
            ]
            configurations[curve.key] = SimpleNamespace(n=3, diverged=0)
    return Results(quick, configurations, rows, trajectories, {}, {}, {}, [])  # type: ignore[arg-type]


@pytest.mark.parametrize(("level", "said"), [(0.14, 1), (0.2, 0)])
def test_a_panel_in_which_all_guess_is_not_informative(level: float, said: int) -> None:
    drawings = {one.name: one.figure for one in figure_2a.draw(accuracies(level))}
    axes = drawings["2a-cnn-cifar10"].axes
    texts = [text.get_text() for one in axes for text in one.texts]
    assert sum("not informative" in text for text in texts) == said
    assert {one.get_ylim()[0] for one in axes[3:6]} == {0.0}
    assert len({one.get_ylim() for one in axes[3:6]}) == len({one.get_xlim() for one in axes[:3]}) == 1
    assert all(any(line.get_linestyle() == ":" for line in one.lines) for one in axes[3:6])


def test_figures_say_where_order_and_selection_differ_at_once() -> None:
    results = accuracies(0.5)
    (whole,) = [one.figure for one in figure_2a.draw(results)]
    fixed = [make_curve(results.scale.cnn_cifar, case, "fedavg", reshuffle=False).key for case in CASES]
    for key in fixed:
        del results.configurations[key], results.trajectories[key], results.runs[key]
    (without,) = [one.figure for one in figure_2a.draw(results)]
    said = [one.legends[0].get_title().get_text().replace("\n", " ") for one in (whole, without)]
    assert ["FedAvg in fixed order was not run" in text for text in said] == [False, True]
    assert all("order and selection differ at once" in text for text in said)
