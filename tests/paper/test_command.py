"""`python -m paper` as a user meets it: what the pages say of it, its help, and where it is not."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from paper.__main__ import FIGURES, build_parser
from paper.catalogue import EXPERIMENTS
from paper.data import has_cifar

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_commands_of_the_pages_parse() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    commands = re.findall(r"python -m paper((?: [\w-]+)*)", text)
    assert len(commands) > 5
    for command in commands:
        asked = build_parser().parse_args(shlex.split(command))
        assert set(asked.figures) <= set(FIGURES)


def test_the_command_knows_every_figure() -> None:
    assert set(FIGURES) == {*(one.name for one in EXPERIMENTS), "theorem", "all"}


def test_help_is_quick_and_shows_examples() -> None:
    code = "import sys, paper.__main__; assert not {'torch', 'numpy', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    shown = subprocess.run(
        [sys.executable, "-m", "paper", "--help"], check=True, capture_output=True, text=True, cwd=ROOT
    ).stdout
    assert "python -m paper all --scale smoke" in shown


def test_a_wrong_option_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        build_parser().parse_args(["--scale", "huge"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "huge" in line


def test_the_wheel_has_the_package_alone() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert targets["wheel"] == {"packages": ["src/bherd"]}
    assert "paper" in targets["sdist"]["include"]


def test_cifar_is_looked_for_where_every_command_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BHERD_DATA", str(tmp_path))
    monkeypatch.setattr("bherd.tasks.datasets.places.cache_folder", lambda: tmp_path / "none")
    assert not has_cifar()
    for name in (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"):
        (tmp_path / name).touch()
    assert has_cifar()
