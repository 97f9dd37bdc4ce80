"""The values beside a mouse, a finger or the arrow keys: where they stand, when they come and go."""

import re

import pytest

from tests.browser.pages import Open, Opened, Reported

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CHARTS = ("accuracy-chart", "loss-chart", "distance-chart")
Box = dict[str, float]


def box(opened: Opened, selector: str) -> Box:
    """A node's place in the window, after scrolling to it."""
    node = opened.page.locator(selector)
    node.scroll_into_view_if_needed()
    found = node.bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"], "width": found["width"], "height": found["height"]}


def inside(inner: Box, outer: Box) -> bool:
    """Whether one box lies within another, to half a pixel."""
    return (
        inner["x"] >= outer["x"] - 0.5
        and inner["y"] >= outer["y"] - 0.5
        and inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 0.5
        and inner["y"] + inner["height"] <= outer["y"] + outer["height"] + 0.5
    )


def check_tip(opened: Opened, chart: str, width: int) -> None:
    """Every part of the tip is where it belongs, and nothing makes the page wider."""
    assert opened.page.locator(f"#{chart} .tip").is_visible()
    found = opened.page.evaluate(
        """chart => {
            const boxes = selector => [...document.querySelectorAll(selector)].map(node => {
                const { x, y, width, height } = node.getBoundingClientRect();
                return { x, y, width, height };
            });
            return {
                plot: boxes(chart)[0],
                tip: boxes(`${chart} .tip`)[0],
                parts: boxes(`${chart} .tip :is(b, .label, .v, svg)`),
                swatches: boxes(`${chart} .tip svg.swatch`),
                values: boxes(`${chart} .tip .v`),
                wide: document.documentElement.scrollWidth,
            };
        }""",
        f"#{chart}",
    )
    assert inside(found["tip"], found["plot"])
    assert inside(found["tip"], {**found["tip"], "x": 0, "width": width})
    assert len(found["parts"]) > 3
    assert all(inside(part, found["tip"]) for part in found["parts"])
    assert len(found["swatches"]) >= 2
    assert {(swatch["width"], swatch["height"]) for swatch in found["swatches"]} == {(26, 10)}
    ends = [value["x"] + value["width"] for value in found["values"]]
    assert max(ends) - min(ends) < 0.5
    assert found["wide"] <= width


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("chart", CHARTS)
def test_the_tip_stays_inside_its_chart(open_page: Open, reported: Reported, chart: str, width: int) -> None:
    opened = open_page(reported.page, width=width)
    plot = box(opened, f"#{chart} .picture")
    for share in (0.2, 0.5, 0.75, 0.98):
        at = plot["x"] + share * plot["width"]
        opened.page.mouse.move(at, plot["y"] + plot["height"] / 2)
        check_tip(opened, chart, width)
    if width == 1400:
        tip = opened.page.locator(f"#{chart} .tip").bounding_box()
        assert tip is not None
        assert tip["x"] + tip["width"] <= at  # flipped to the left of the cross-hair
    opened.page.mouse.move(plot["x"], plot["y"] - 30)
    assert not opened.page.locator(f"#{chart} .tip").is_visible()


@pytest.mark.parametrize("width", [390, 1400])
@pytest.mark.parametrize("chart", CHARTS)
def test_keys_open_the_tip_inside_its_chart(
    open_page: Open, reported: Reported, chart: str, width: int
) -> None:
    opened = open_page(reported.page, width=width)
    opened.page.locator(f"#{chart}").focus()
    for key in ("Home", "ArrowRight", "PageDown", "End"):
        opened.page.keyboard.press(key)
        check_tip(opened, chart, width)
    opened.page.keyboard.press("Escape")
    assert not opened.page.locator(f"#{chart} .tip").is_visible()


@pytest.mark.parametrize("chart", CHARTS)
def test_a_tap_shows_the_values_until_a_tap_elsewhere(
    open_page: Open, reported: Reported, chart: str
) -> None:
    opened = open_page(reported.page, width=390, touch=True)
    page = opened.page
    plot = box(opened, f"#{chart} .picture")
    page.touchscreen.tap(plot["x"] + 0.6 * plot["width"], plot["y"] + 0.5 * plot["height"])
    page.wait_for_timeout(400)
    check_tip(opened, chart, 390)
    first = page.locator(f"#{chart} .tip b").inner_text()
    page.touchscreen.tap(plot["x"] + 0.9 * plot["width"], plot["y"] + 0.5 * plot["height"])
    assert page.locator(f"#{chart} .tip b").inner_text() != first
    page.touchscreen.tap(plot["x"] + 5, plot["y"] - 40)
    assert not page.locator(f"#{chart} .tip").is_visible()


def test_a_tap_on_another_chart_moves_the_values_there(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page, width=1280, touch=True)
    for chart, other in (("accuracy-chart", "loss-chart"), ("loss-chart", "accuracy-chart")):
        opened.page.locator(f"#{chart} .picture").tap()
        assert opened.page.locator(f"#{chart} .tip").is_visible()
        assert not opened.page.locator(f"#{other} .tip").is_visible()


def test_a_finger_that_moves_sideways_reads_and_one_that_moves_up_scrolls(
    open_page: Open, reported: Reported
) -> None:
    opened = open_page(reported.page, width=390, touch=True)
    page = opened.page
    plot = box(opened, "#accuracy-chart .picture")
    session = page.context.new_cdp_session(page)

    def drag(start: tuple[float, float], by: tuple[float, float], then: str) -> list[str]:
        """What the tip says on the way; a finger goes `by` so far in ten steps."""
        said: list[str] = []
        for i in range(11):
            kind = "touchStart" if i == 0 else "touchMove"
            at = {"x": start[0] + by[0] * i / 10, "y": start[1] + by[1] * i / 10}
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [at]})
            page.wait_for_timeout(30)
            said.append(page.locator("#accuracy-chart .tip b").text_content() or "")
        session.send("Input.dispatchTouchEvent", {"type": then, "touchPoints": []})
        page.wait_for_timeout(400)
        return said

    middle = plot["y"] + plot["height"] / 2
    before = page.evaluate("scrollY")
    said = drag((plot["x"] + 100, middle), (200, 0), "touchEnd")
    assert len(set(said)) > 4
    assert page.evaluate("scrollY") == before
    assert page.locator("#accuracy-chart .tip").is_visible()
    drag((plot["x"] + 100, middle), (0, -200), "touchEnd")
    assert page.evaluate("scrollY") > before + 50
    assert not page.locator("#accuracy-chart .tip").is_visible()


def test_a_tap_reads_a_cell_of_a_heat_map(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page, width=390, touch=True)
    page = opened.page
    page.locator("#herd-run").select_option(label="bherd-fedavg alpha=0.5, seed 1")
    canvas = page.locator("#herd canvas").nth(1)
    canvas.scroll_into_view_if_needed()
    place = canvas.bounding_box()
    assert place is not None
    page.touchscreen.tap(place["x"] + place["width"] * 2.5 / 12, place["y"] + 2)
    page.wait_for_timeout(400)
    tip = page.locator("#herd figure").nth(1).locator(".tip")
    words = tip.inner_text()
    assert re.match(r"Client 1, round 3, step 0: (left out|kept as the \d+)", words)
    assert page.locator("#herd-readout").inner_text() == words
    at = tip.bounding_box()
    assert at is not None
    assert at["y"] + at["height"] <= place["y"]
    assert at["x"] >= 0
    assert at["x"] + at["width"] <= 390
    page.touchscreen.tap(5, place["y"] + 30)
    assert not tip.is_visible()


def test_values_cover_no_curve_on_a_phone_and_leave_without_a_jump(
    open_page: Open, reported: Reported
) -> None:
    opened = open_page(reported.page, width=390, touch=True)
    page = opened.page
    for chart in reversed(CHARTS):
        page.locator(f"#{chart} .picture").tap()
        rows = page.locator(f"#{chart} .tip .v").count()
        assert rows == page.locator(f"#{chart} path.line").count()
    places = """() => ['#accuracy-chart .picture', '#accuracy-chart .tip', '#loss-chart']
        .map(id => document.querySelector(id).getBoundingClientRect())
        .map(box => [box.top + scrollY, box.bottom + scrollY])"""
    picture, tip, below = page.evaluate(places)
    assert tip[0] >= picture[1]
    assert below[0] > tip[1]
    page.locator("#loss-chart .picture").tap()
    assert not page.locator("#accuracy-chart .tip").is_visible()
    assert page.evaluate(places)[2][0] == below[0]


def test_the_page_tells_that_it_can_be_tapped(open_page: Open, reported: Reported) -> None:
    page = open_page(reported.page).page
    assert "tap" in page.locator("#curves .hint").first.inner_text()
    assert "tap" in page.locator("#herd-readout").inner_text()


def test_fingers_find_targets_of_44_pixels(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page, width=390, touch=True)
    small = opened.page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, summary, nav a')]
            .map(n => n.matches('[type=checkbox], [type=radio]') ? n.closest('label') : n)
            .filter(n => n.checkVisibility())
            .filter(n => n.getBoundingClientRect().height < 44)
            .map(n => n.outerHTML.slice(0, 80))"""
    )
    assert small == []
    mouse = open_page(reported.page).page.locator(".actions button").first.bounding_box()
    assert mouse is not None
    assert mouse["height"] < 44


def test_many_methods_do_not_push_the_tip_out_of_its_chart(open_page: Open, reported: Reported) -> None:
    opened = open_page(reported.page, width=1280)
    page = opened.page
    page.locator("#accuracy-chart").evaluate("node => { node.style.height = '110px'; }")
    page.locator("#accuracy-chart").focus()
    page.keyboard.press("End")
    tip = page.locator("#accuracy-chart .tip")
    assert re.search(r"and \d more", tip.inner_text())
    place, plot = tip.bounding_box(), page.locator("#accuracy-chart").bounding_box()
    assert place is not None
    assert plot is not None
    assert place["height"] <= plot["height"]
