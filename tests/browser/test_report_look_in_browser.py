"""The report in a real browser: that what it shows is what it says."""

from pathlib import Path

import pytest

from bherd.report import build
from browser.pages import Open, Reported
from report_runs import BASE, made_up_run

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
