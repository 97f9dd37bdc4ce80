"""What is published is what the published tables say: the page, the sentence in README, the pictures."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from paper.page import judge_claims, read_all, write_page

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def verdicts() -> Counter[str]:
    return Counter(judged.verdict for judged in judge_claims(read_all(ROOT / "results")))


def test_the_page_is_written_from_the_tables(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "results", tmp_path / "results")
    write_page(tmp_path / "docs" / "reproduction.md", tmp_path / "results")
    for name in ("docs/reproduction.md", "results/claims.csv"):
        assert (tmp_path / name).read_text() == (ROOT / name).read_text(), f"{name}: python -m paper --redraw"


def test_readme_counts_the_verdicts(verdicts: Counter[str]) -> None:
    found = re.search(
        r"Of (\d+) claims (\d+) hold, (\d+) hold only with the amplified step and (\d+) only with the "
        r"equation's, (\d+) do not hold, (\d+) is \*slower\* and (\d+) \*equal within 1%\* "
        r"\(GraB against FedAvg\), "
        r"(\d+) are inconclusive, and (\d+) are inconclusive with the amplified step only",
        " ".join((ROOT / "README.md").read_text().split()),
    )
    assert found
    half = [name for name in verdicts if name.endswith("; inconclusive with the amplified step")]
    assert [int(number) for number in found.groups()] == [
        verdicts.total(),
        verdicts["holds"],
        verdicts["holds only with the amplified step"],
        verdicts["holds only with the equation's step"],
        verdicts["does not hold"],
        verdicts["slower"],
        verdicts["equal within 1%"],
        verdicts["inconclusive"],
        sum(verdicts[name] for name in half),
    ]


def test_pictures_are_wide_enough_for_a_page_and_png_only() -> None:
    figures = sorted((ROOT / "results").glob("*/figures/*"))
    assert len(figures) > 25
    assert {path.suffix for path in figures} == {".png"}
    for path in figures:
        with Image.open(path) as picture:
            assert picture.width == 1494, path  # 8.3 inches: at 830 pixels a point is 1.4 of them
