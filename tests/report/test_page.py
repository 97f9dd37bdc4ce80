"""The file itself: complete, safe whatever the names are, and not too large."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from bherd.cli import main
from bherd.errors import InputError
from bherd.report import build
from bherd.report.page import SCRIPTS, STYLES
from tests.report_runs import BASE, made_up_run

EVIL = "</script><script>alert(1)</script><!-- \u2028 \"'&amp; 羊群"


@pytest.fixture
def page(tmp_path: Path) -> str:
    config = BASE.replace(dataset=f"{EVIL}.npz")
    path = made_up_run(tmp_path / "羊 'quoted' \"run\" <b>", config, rounds=3, steps=4)
    return build([path], tmp_path / "report.html", title=EVIL).read_text(encoding="utf-8")


def embedded(page: str) -> str:
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return found[1]


def test_strings_survive_and_cannot_leave_their_place(page: str) -> None:
    data = json.loads(embedded(page))
    assert data["title"] == EVIL
    assert data["runs"][0]["name"] == "羊 'quoted' \"run\" <b>"
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<b>" not in page.split("<body>")[1].split("<script")[0]
    assert not set(embedded(page)) & {"<", ">", "&", "\u2028", "\u2029"}


def test_the_policy_names_the_script_and_style_and_allows_nothing_else(page: str) -> None:
    policy = re.findall(r'Content-Security-Policy" content="([^"]+)"', page)[0]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    style = page.partition("<style>")[2].partition("</style>")[0]
    for text in (script, style):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_nothing_is_loaded_from_anywhere(page: str) -> None:
    code = page.replace(embedded(page), "")
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", code))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|img|iframe|object|embed)\b", code)
    assert not re.search(
        r"@import|url\(|fetch\(|XMLHttpRequest|innerHTML|insertAdjacentHTML|document\.write|eval\(", code
    )


def test_assets_are_small_files_and_all_are_used() -> None:
    import bherd.report

    folder = Path(bherd.report.__file__).parent / "assets"
    assert sorted(path.name for path in folder.iterdir()) == sorted([*SCRIPTS, *STYLES, "page.html"])
    assert all(len(path.read_text().splitlines()) <= 300 for path in folder.iterdir())


def test_five_runs_of_500_rounds_stay_under_8_mb(tmp_path: Path) -> None:
    """MNIST's sizes: 120 steps a client; a snapshot every tenth round."""
    for seed in range(5):
        made_up_run(tmp_path / f"{seed}", BASE.replace(seed=seed), rounds=500, steps=120, snapshots=50)
    output = build([tmp_path], tmp_path / "report.html")
    assert output.stat().st_size < 8e6


def test_the_command_writes_the_page_and_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made_up_run(tmp_path / "run", BASE, rounds=3, steps=4)
    output = tmp_path / "deep" / "page.html"
    assert main(["report", str(tmp_path / "run"), "-o", str(output)]) == 0
    assert capsys.readouterr().out == f"report: {output}\n"
    assert output.read_text().startswith("<!doctype html>")


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path / "nowhere")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_output_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    made_up_run(tmp_path / "run", BASE, rounds=3, steps=4)
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(InputError, match="cannot write the report"):
        build([tmp_path / "run"], tmp_path / "taken" / "report.html")
