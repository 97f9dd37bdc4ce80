"""The report in a real browser: that what it shows is what it says."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from bherd.algorithms.herding import herd
from bherd.loop.snapshots import take
from bherd.report import build
from bherd.runs import directory as names
from bherd.runs.life import run
from bherd.statistics import geometric_interval, interval
from tests.browser.pages import Open, Reported
from tests.report_runs import BASE, made_up_run, record_files
from tests.small_runs import read_lines

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_button_that_does_nothing_looks_like_it(open_page: Open, tmp_path: Path) -> None:
    made_up_run(tmp_path / "run", BASE.replace(clients=60), rounds=4, steps=3)
    page = open_page(build([tmp_path / "run"], tmp_path / "report.html")).page
    looks = [
        page.get_by_role("button", name=name).evaluate(
            "node => { const s = getComputedStyle(node); return [s.opacity, s.cursor, s.borderStyle]; }"
        )
        for name in ("Earlier clients", "Later clients")
    ]
    assert looks[0] == ["0.6", "not-allowed", "dashed"]
    assert looks[1] == ["1", "pointer", "solid"]


def test_the_table_is_a_table_on_paper(open_page: Open, reported: Reported) -> None:
    page = open_page(reported.page, width=794).page
    display = "getComputedStyle(document.querySelector('.numbers')).display"
    assert page.evaluate(display) == "block"
    page.emulate_media(media="print")
    assert page.evaluate(display) == "table"


def metrics(reported: Reported, key: str, at: int) -> dict[str, list[float]]:
    """A value of one evaluated round, for each seed, by the method's label."""
    folders = {"fedavg": "fedavg", "bherd-fedavg alpha=0.5": "bherd-fedavg_alpha0.5"}
    return {
        label: [read_lines(reported.runs / folder / f"seed-{seed}")[at][key] for seed in (0, 1)]
        for label, folder in folders.items()
    }


def tip_rows(page: "Page", chart: str) -> dict[str, str]:
    labels, values = page.locator(f"#{chart} .tip .label"), page.locator(f"#{chart} .tip .v")
    return dict(zip(labels.all_inner_texts(), values.all_inner_texts(), strict=True))


def test_bands_and_values_are_the_library_s_intervals(open_page: Open, reported: Reported) -> None:
    page = open_page(reported.page).page
    page.locator("#accuracy-chart").focus()
    page.keyboard.press("End")
    rows = tip_rows(page, "accuracy-chart")
    for label, values in metrics(reported, "test_accuracy", -1).items():
        found = interval(values)
        assert rows[label] == f"{100 * found.mean:.2f}% ± {100 * found.half_width:.2f}"
    page.locator("#loss-chart").focus()
    page.keyboard.press("End")
    rows = tip_rows(page, "loss-chart")
    for label, values in metrics(reported, "train_loss", -1).items():
        mean, _, half = rows[label].partition(" ± ")
        found = interval(values)
        assert float(mean) == pytest.approx(found.mean, rel=1e-3)
        assert float(half) == pytest.approx(found.half_width, rel=0.05)


def test_a_log_scale_shows_geometric_means_and_intervals(open_page: Open, reported: Reported) -> None:
    page = open_page(reported.page).page
    page.locator("#log-scale").check()
    page.locator("#loss-chart").focus()
    page.keyboard.press("Home")
    rows = tip_rows(page, "loss-chart")
    for label, values in metrics(reported, "train_loss", 0).items():
        shown = [float(number) for number in re.findall(r"[0-9.]+(?:e-?\d+)?", rows[label])]
        assert shown == pytest.approx(geometric_interval(values)[:3], rel=1e-3)


def test_the_header_names_the_spread_once_and_one_seed_has_none(open_page: Open, reported: Reported) -> None:
    page = open_page(reported.page).page
    said = page.locator("#spread").inner_text()
    assert "95% Student interval of the mean over 1 to 2 seeds" in said
    assert "A method with one seed has neither." in said
    bands = page.locator("#accuracy-chart path.band")
    labels = {bands.nth(i).get_attribute("data-label") for i in range(bands.count())}
    assert labels == {"fedavg", "bherd-fedavg alpha=0.5", "random-fedavg alpha=0.3"}
    page.locator("#task").select_option(label="mnist-mini, svm, case1, 5 clients")
    assert page.locator("#spread").inner_text().startswith("One seed per method: no band and no ±")
    assert page.locator("main path.band").count() == 0
    page.locator("#accuracy-chart").focus()
    page.keyboard.press("End")
    assert "±" not in page.locator("#accuracy-chart .tip").inner_text()


def test_single_seeds_are_drawn_on_demand(open_page: Open, reported: Reported) -> None:
    page = open_page(reported.page).page
    assert page.locator("path.single").count() == 0
    page.locator("#single-seeds").check()
    assert page.locator("#accuracy-chart path.single").count() == 6  # three methods with two seeds
    assert page.locator("#distance-chart path.single").count() == 4
    page.locator("#single-seeds").uncheck()
    assert page.locator("path.single").count() == 0


def test_a_band_ends_where_one_seed_is_left_and_a_curve_says_where_it_ended(
    open_page: Open, tmp_path: Path
) -> None:
    long, short = BASE.replace(seed=0), BASE.replace(seed=1)
    made_up_run(tmp_path / "a" / "0", long, rounds=12, steps=4)
    made_up_run(tmp_path / "a" / "1", short, rounds=6, steps=4)
    made_up_run(tmp_path / "b" / "0", long.replace(name="fedavg"), rounds=5, steps=4)
    page = open_page(build([tmp_path], tmp_path / "report.html")).page
    picture = page.locator("#accuracy-chart svg").first.bounding_box()
    band = page.locator("#accuracy-chart path.band").bounding_box()
    assert picture is not None
    assert band is not None
    assert band["width"] < 0.5 * picture["width"]
    page.locator("#accuracy-chart").focus()
    page.keyboard.press("End")
    rows = tip_rows(page, "accuracy-chart")
    assert rows["fedavg"] == "ended at 5"
    assert rows["bherd-fedavg alpha=0.5"].endswith("%, 1 of 2 seeds")


def test_a_wide_band_does_not_flatten_the_curves(open_page: Open, tmp_path: Path) -> None:
    """Two seeds that lie apart have a very wide interval: it is cut at the chart's edge."""
    for seed in (0, 1):
        path = made_up_run(tmp_path / f"{seed}", BASE.replace(seed=seed), rounds=12, steps=4)
        lines = read_lines(path)
        for line in lines:
            line["test_accuracy"] += 0.1 * seed
        (path / names.METRICS).write_text("".join(json.dumps(line) + "\n" for line in lines))
        record_files(path)
    page = open_page(build([tmp_path], tmp_path / "report.html")).page
    shares = page.evaluate(
        """() => ['line', 'band'].map(kind => {
            const plot = document.querySelector('#accuracy-chart svg').getBoundingClientRect();
            const box = document.querySelector(`#accuracy-chart path.${kind}`).getBoundingClientRect();
            return [box.height / plot.height, box.top >= plot.top && box.bottom <= plot.bottom];
        })"""
    )
    assert shares[0][0] > 0.3
    assert shares[1][1]


def test_times_are_grey_and_have_a_legend(open_page: Open, reported: Reported) -> None:
    page = open_page(reported.page).page
    parts = ("training", "selection", "aggregation", "evaluation")
    legend = page.locator("#table .ramp").inner_text()
    assert all(part in legend for part in parts)
    colours = """where => [0, 1, 2, 3].map(i =>
        getComputedStyle(document.querySelector(`${where} .part${i}`)).backgroundColor)"""
    shown = page.evaluate(colours, ".split")
    assert shown == page.evaluate(colours, "#table .ramp")
    assert len(set(shown)) == 4
    for colour in shown:
        red, green, blue = (int(part) for part in re.findall(r"\d+", colour))
        assert max(red, green, blue) - min(red, green, blue) < 40


def test_saved_pictures_are_light_and_say_what_the_band_is(
    open_page: Open, reported: Reported, tmp_path: Path
) -> None:
    page = open_page(reported.page, scheme="dark").page
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save accuracy as SVG").click()
    waiting.value.save_as(tmp_path / "accuracy.svg")
    text = (tmp_path / "accuracy.svg").read_text()
    assert "Mean and 95% Student interval of the mean over 1 to 2 seeds" in text
    assert 'fill="#ffffff"' in text
    assert "rgb(86, 96, 116)" in text
    assert page.evaluate("document.documentElement.dataset.theme") is None


def test_the_plane_says_how_much_of_the_gradients_it_shows(open_page: Open, reported: Reported) -> None:
    page = open_page(reported.page).page
    page.locator("#inside-run").select_option(label="bherd-scaffold alpha=0.4, seed 0")
    trace = reported.traces[0].double()
    shot, kept = take(trace), herd(trace, 0.4)
    total = (trace[kept] - trace.mean(0)).sum(0).norm()
    chance = (float(len(kept)) * (1 - len(kept) / len(trace))) ** 0.5 * float(trace.var(0).sum()) ** 0.5
    said = page.locator("#inside-plane").inner_text()
    assert f"The plane holds {100 * sum(shot.explained):.0f}% of the variance." in said
    numbers = [float(number) for number in re.findall(r"(?:is|random) ([0-9.e-]+)", said)]
    assert numbers == pytest.approx([float(total), chance], rel=1e-2)


def test_clients_that_never_took_part_are_named(open_page: Open, tmp_path: Path) -> None:
    run(BASE.replace(clients=8, cohort=2, rounds=2), tmp_path / "run")
    seen = set(pq.read_table(tmp_path / "run" / names.CLIENTS)["client"].to_pylist())
    absent = sorted(set(range(8)) - seen)
    assert absent
    page = open_page(build([tmp_path / "run"], tmp_path / "report.html")).page
    words = f"{len(absent)} of 8 clients never took part: {', '.join(map(str, absent))}."
    assert words in page.locator("#herd").inner_text()


def test_the_distance_is_shown_against_chance(open_page: Open, reported: Reported) -> None:
    page = open_page(reported.page).page
    chart = page.locator("#distance-chart svg").first
    assert chart.get_by_text("Distance, a random share = 1", exact=True).count() == 1
    assert chart.locator("line.target").count() == 1
    page.locator("#distance-chart").focus()
    page.keyboard.press("End")
    rows = tip_rows(page, "distance-chart")
    relative = []
    for seed in (0, 1):
        path = reported.runs / "bherd-fedavg_alpha0.5" / f"seed-{seed}" / names.CLIENTS
        last = [row for row in pq.read_table(path).to_pylist() if row["round"] == 12]
        squares = [(row["distance"] / row["random_distance"]) ** 2 for row in last]
        relative.append((sum(squares) / len(squares)) ** 0.5)
    shown = float(rows["bherd-fedavg alpha=0.5"].partition(" ± ")[0])
    assert shown == pytest.approx(interval(relative).mean, rel=1e-3)
    assert shown < 0.9
