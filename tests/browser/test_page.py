"""The report in a real browser: what people do with it."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from bherd.algorithms.herding import herd
from bherd.loop.snapshots import take
from bherd.runs import directory as names
from tests.browser.pages import Open, Opened, Reported
from tests.small_runs import read_lines

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SCAFFOLD = "bherd-scaffold alpha=0.4"


def lines_of(opened: Opened, chart: str) -> dict[str, str]:
    """The path of every line of a chart, by method."""
    paths = opened.page.locator(f"#{chart} path.line")
    return {
        paths.nth(i).get_attribute("data-label") or "": paths.nth(i).get_attribute("d") or ""
        for i in range(paths.count())
    }


def set_slider(opened: Opened, selector: str, value: int) -> None:
    opened.page.locator(selector).evaluate(
        "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }", str(value)
    )


def test_it_loads_from_a_file_without_network_or_complaint(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    assert opened.requests == [reported.page.as_uri()]
    assert opened.page.locator("h1").inner_text() == "2 tasks"
    assert "seeds" in opened.page.locator("#what").inner_text()
    assert set(lines_of(opened, "accuracy-chart")) == {
        "fedavg",
        "bherd-fedavg alpha=0.5",
        "random-fedavg alpha=0.3",
        SCAFFOLD,
    }


def test_alpha_slider_keeps_what_the_library_keeps(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    page = opened.page
    page.locator("#inside-run").select_option(label=f"{SCAFFOLD}, seed 0")
    trace = reported.traces[0]
    for percent in (1, 5, 15, 25, 40, 50, 73, 100):
        set_slider(opened, "#alpha-slider", percent)
        expected = herd(trace, percent / 100).tolist()
        shown = page.locator("#inside-kept").inner_text().partition(":")[2]
        assert [int(step) for step in shown.split(",")] == expected
        filled = page.locator("#plane circle.kept")
        steps = {int(filled.nth(i).get_attribute("data-step") or -1) for i in range(filled.count())}
        assert steps == set(expected)
        hollow = page.locator("#plane circle.left-out").count()
        assert hollow == len(trace) - len(expected)
        distance = re.findall(r"at this α: ([0-9.e-]+)\.", page.locator("#inside-readout").inner_text())[0]
        assert float(distance) == pytest.approx(take(trace).distance[len(expected) - 1], rel=2e-3, abs=1e-6)


def test_alpha_slider_starts_at_the_runs_own_share(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    opened.page.locator("#inside-run").select_option(label=f"{SCAFFOLD}, seed 0")
    assert opened.page.locator("#alpha-slider").input_value() == "40"
    assert "exactly these" in opened.page.locator("#inside-readout").inner_text()


def test_round_and_client_choose_the_snapshot(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    page = opened.page
    page.locator("#inside-run").select_option(label=f"{SCAFFOLD}, seed 0")
    clients = 5
    for position, number in enumerate((4, 8, 12)):
        set_slider(opened, "#round-slider", position)
        assert page.locator("#round-slider").get_attribute("aria-valuetext") == f"round {number}"
        for client in (0, 3):
            page.locator("#inside-client").select_option(label=f"client {client}")
            shown = page.locator("#inside-kept").inner_text().partition(":")[2]
            expected = herd(reported.traces[position * clients + client], 0.4).tolist()
            assert [int(step) for step in shown.split(",")] == expected


def test_sliders_move_by_keyboard(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    opened.page.locator("#alpha-slider").focus()
    before = int(opened.page.locator("#alpha-slider").input_value())
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.locator("#alpha-slider").input_value() == str(before + 1)
    assert f"{(before + 1) / 100:.2f} keeps" in opened.page.locator(".slider output").nth(1).inner_text()


def test_axes_can_be_switched(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    by_round = lines_of(opened, "loss-chart")
    for name in ("Seconds", "Uplink bytes"):
        opened.page.get_by_text(name, exact=True).first.click()
        assert opened.page.locator("#loss-chart svg").get_by_text(name, exact=True).count() == 1
        assert lines_of(opened, "loss-chart") != by_round
    opened.page.get_by_text("Round", exact=True).first.click()
    assert lines_of(opened, "loss-chart") == by_round
    opened.page.locator("#log-scale").check()
    assert lines_of(opened, "loss-chart") != by_round
    opened.page.locator("#log-scale").uncheck()
    opened.page.locator("input[name=loss]").nth(1).check(force=True)
    assert opened.page.locator("#loss-chart svg").get_by_text("Test loss", exact=True).count() == 1


def test_methods_can_be_switched_off(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    button = opened.page.get_by_role("button", name="fedavg", exact=True)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    for chart in ("accuracy-chart", "loss-chart"):
        assert "fedavg" not in lines_of(opened, chart)
    assert opened.page.locator("#numbers-body tr.off th").inner_text() == "fedavg"
    button.press("Enter")
    assert "fedavg" in lines_of(opened, "accuracy-chart")


def test_the_table_follows_the_target(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    folders = {"fedavg": "fedavg", "bherd-fedavg alpha=0.5": "bherd-fedavg_alpha0.5"}
    curves = {
        label: [read_lines(reported.runs / folder / f"seed-{seed}") for seed in (0, 1)]
        for label, folder in folders.items()
    }
    for target in (20.0, 60.0, 75.5, 100.0):
        opened.page.locator("#target").fill(str(target))
        for label, runs in curves.items():
            hits = [
                next((li["round"] for li in lines if li["test_accuracy"] >= target / 100), None)
                for lines in runs
            ]
            reached = [hit for hit in hits if hit is not None]
            row = opened.page.locator("#numbers-body tr").filter(
                has=opened.page.get_by_text(label, exact=True)
            )
            shown = row.locator("td[data-label='Rounds to target'] div").inner_text().splitlines()
            if not reached:
                assert shown == ["never"]
            elif len(reached) == 1:
                assert shown[0] == "not in 1 of 2 seeds"
                assert shown[-1] == f"{reached[0]} at best"
            else:
                assert float(shown[0]) == pytest.approx(float(np.median(reached)), rel=1e-3)


def test_charts_are_saved_as_svg_png_and_csv(open_page: Open, reported: Reported, tmp_path: Path) -> None:
    opened = open_page(reported.page)
    saved: dict[str, Path] = {}
    for kind in ("SVG", "PNG", "CSV"):
        with opened.page.expect_download() as waiting:
            opened.page.get_by_role("button", name=f"Save accuracy as {kind}").click()
        saved[kind] = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(saved[kind])
    text = saved["SVG"].read_text()
    assert text.startswith("<svg")
    assert SCAFFOLD in text
    assert "class=" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    with Image.open(saved["PNG"]) as image:
        assert image.width > 700
        assert len(np.unique(np.asarray(image.convert("RGB")).reshape(-1, 3), axis=0)) > 20
    with saved["CSV"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = read_lines(reported.runs / "fedavg" / "seed-1")
    mine = [row for row in rows if row["method"] == "fedavg" and row["seed"] == "1"]
    assert [int(row["round"]) for row in mine] == [line["round"] for line in lines]
    assert [float(row["train_loss"]) for row in mine] == pytest.approx(
        [li["train_loss"] for li in lines], rel=1e-5
    )


def test_dark_mode_follows_the_system_and_the_button(open_page: Open, reported: Reported) -> None:
    def brightness(opened: Opened) -> int:
        colour = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3])

    light, dark = open_page(reported.page), open_page(reported.page, scheme="dark")
    assert brightness(light) > 600
    assert brightness(dark) < 150
    light.page.locator("#theme").click()
    assert brightness(light) < 150
    dark.page.locator("#theme").click()
    assert brightness(dark) > 600


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_sideways_scrolling(open_page: Open, reported: Reported, width: int) -> None:
    opened = open_page(reported.page, width=width)
    for summary in opened.page.locator("#provenance summary").all()[:2]:
        summary.click()
    wide = opened.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    overflowing = opened.page.evaluate(
        """() => [...document.querySelectorAll('main *')]
            .filter(n => n.getBoundingClientRect().right > innerWidth + 1)
            .filter(n => !n.closest('.visually-hidden, .numbers thead'))
            .filter(n => n.getBoundingClientRect().width > 1)
            .map(n => n.tagName + '.' + (n.className.baseVal ?? n.className))"""
    )
    assert overflowing == []


def test_charts_and_maps_are_read_by_keyboard(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    page = opened.page
    page.locator("#accuracy-chart").focus()
    page.keyboard.press("Home")
    assert page.locator("#accuracy-chart .tip b").inner_text() == "Round 1"
    page.keyboard.press("ArrowRight")
    assert page.locator("#accuracy-chart .tip b").inner_text() == "Round 2"
    page.locator("#herd-run").select_option(label="bherd-fedavg alpha=0.5, seed 1")
    page.locator("#herd canvas").nth(2).focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    ledger = pq.read_table(reported.runs / "bherd-fedavg_alpha0.5" / "seed-1" / names.LEDGER).to_pandas()
    cell = ledger[(ledger["round"] == 3) & (ledger["client"] == 2) & (ledger["step"] == 1)].iloc[0]
    said = page.locator("#herd-readout").inner_text()
    assert said.startswith("Client 2, round 3, step 1: ")
    if cell["kept"]:
        assert re.search(rf"kept as the {int(cell['rank']) + 1}(st|nd|rd|th)", said)
    else:
        assert "left out" in said


def test_pointing_at_a_chart_shows_the_values(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    box = opened.page.locator("#accuracy-chart svg").bounding_box()
    assert box is not None
    opened.page.mouse.move(box["x"] + box["width"] - 13, box["y"] + box["height"] / 2)
    tip = opened.page.locator("#accuracy-chart .tip").inner_text()
    final = read_lines(reported.runs / "a-scaffold" / "seed-0")[-1]["test_accuracy"]
    assert "Round 12" in tip
    assert f"{100 * final:.2f}%" in tip


def test_tasks_can_be_switched(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page)
    opened.page.locator("#task").select_option(label="mnist-mini, svm, case1, 5 clients")
    assert set(lines_of(opened, "accuracy-chart")) == {"bherd-fedavg alpha=0.5"}
    assert opened.page.locator("#numbers-body tr").count() == 1
    assert "seed 5" in opened.page.locator("#herd-run").inner_text()


def test_paper_shows_the_charts_without_the_controls(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page, scheme="dark")
    opened.page.emulate_media(media="print")
    assert not opened.page.locator("header.bar").is_visible()
    assert not opened.page.locator(".controls").first.is_visible()
    assert opened.page.locator("#accuracy-chart svg").is_visible()
    assert opened.page.pdf()[:5] == b"%PDF-"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_accessibility(open_page: Open, reported: Reported, scheme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    opened = open_page(reported.page, width=width, scheme=scheme)
    opened.page.locator("#provenance summary").first.click()
    found = json.loads(json.dumps(Axe().run(opened.page).response))
    assert len(found["passes"]) > 15
    bad = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [node["target"] for node in v["nodes"]][:3]) for v in bad] == []
