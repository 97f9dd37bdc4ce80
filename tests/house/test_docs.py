"""The documentation holds: links lead somewhere, commands parse, Python blocks and examples run."""

import re
import runpy
import shlex
import tomllib
from pathlib import Path

import pytest

from bherd.cli import build_parser
from bherd.config import all_settings, from_dict
from tests.places import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
RUNNABLE = ("configuration.md", "methods.md", "tour.md")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """The `$ bherd ...` lines of a page's console blocks, continued lines joined."""
    text = "\n".join(blocks(page, "console")).replace("\\\n", " ")
    return [
        line.partition(" #")[0].removeprefix("$ ").partition("bherd ")[2]
        for line in text.splitlines()
        if re.match(r"\$ (\w+=\S+ )?bherd ", line)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not re.match(r"https?://|#", target):
            assert (page.parent / target.partition("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_parse(page: Path) -> None:
    for command in commands(page):
        arguments = shlex.split(command)
        try:
            build_parser().parse_args(arguments)
        except SystemExit as leaving:
            pytest.fail(f"{page.name}: bherd {command} leaves with {leaving.code}")


def test_the_page_of_the_configuration_has_every_setting() -> None:
    text = (ROOT / "docs/configuration.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{one.name}`{'' if one.decides else ' †'} | `--{one.option}` | {one.usual} | {one.help} |"
        for one in all_settings()
    ]
    (example,) = blocks(ROOT / "docs/configuration.md", "toml")
    assert from_dict(tomllib.loads(example)).train.participation == 0.2


def test_readme_shows_commands() -> None:
    assert len(commands(ROOT / "README.md")) >= 4


@pytest.mark.parametrize("page", [ROOT / "docs" / name for name in RUNNABLE], ids=lambda page: page.name)
def test_python_blocks_run(page: Path) -> None:
    names: dict[str, object] = {}
    found = blocks(page, "python")
    assert found
    for block in found:
        exec(compile(block, str(page), "exec"), names)


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(script), run_name="__main__")
    assert "accuracy" in capsys.readouterr().out


def test_the_readme_says_what_the_reproduction_found() -> None:
    page = (ROOT / "docs/reproduction.md").read_text()
    found = re.search(r"^At the same step length, .*$", page, flags=re.MULTILINE)
    assert found is not None
    assert found[0] in " ".join((ROOT / "README.md").read_text().split())
