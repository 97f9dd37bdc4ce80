"""How figures are put together: legends, scales, captions, files."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bherd.experiments import eta, figure_3c, figure_3d, panels, style
from bherd.experiments.grid import make_curve
from bherd.experiments.results import Results
from bherd.experiments.scales import ETAS, make_scale

PAPER = make_scale("paper", cifar=True)
SVM = PAPER.svm


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
