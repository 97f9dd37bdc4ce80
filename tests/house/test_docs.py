"""The documentation holds: links lead somewhere, commands parse, Python blocks and examples run."""

import re
import runpy
import shlex
import tomllib
from pathlib import Path

import pytest

from bherd.cli import build_parser
from bherd.cli.options import config_from, given_by
from bherd.config import Config, all_settings, from_dict
from bherd.many.compare import parse_variant
from bherd.parts.presets import BASES, CENTRALIZED, PREFIXES
from bherd.parts.schedule import KINDS
from bherd.parts.spec import complete, describe_part
from bherd.parts.table import TABLE
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
            given = build_parser().parse_args(arguments)
        except SystemExit as leaving:
            pytest.fail(f"{page.name}: bherd {command} leaves with {leaving.code}")
        if arguments[0] == "run" and given.config is None:
            config_from(given)
        if arguments[0] == "compare":
            base = Config().replace(method="fedavg", order="reshuffled")
            assert [parse_variant(text, base, given_by(given).get("method")) for text in given.methods]


def test_the_page_of_the_configuration_has_every_setting() -> None:
    text = (ROOT / "docs/configuration.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{one.name}`{'' if one.decides else ' †'} | `--{one.option}` | {one.usual} | {one.help} |"
        for one in all_settings()
    ]
    (example,) = blocks(ROOT / "docs/configuration.md", "toml")
    config = from_dict(tomllib.loads(example))
    assert (config.train.cohort, config.method.alpha, config.method.server_lr) == (0.2, 0.3, 0.5)


def test_the_page_of_methods_has_every_method_part_and_schedule() -> None:
    text = (ROOT / "docs/methods.md").read_text()
    for name, preset in {**BASES, **CENTRALIZED}.items():
        assert f"\n| `{name}` | {preset.about} | " in text
    for prefix, preset in PREFIXES.items():
        assert f"\n| `{prefix}*` | {preset.about} | " in text
    for axis, row in TABLE.items():
        found = re.search(rf"### `{axis}`: {row.question}\n\n(.*?)\n\n", text, re.DOTALL)
        assert found is not None, axis
        told = [re.fullmatch(r"\| `(.*?)` \| (.*) \|", line) for line in found[1].splitlines()[2:]]
        assert [(one[1], _plain(one[2])) for one in told if one is not None] == [
            (complete(axis, name), _plain(describe_part(axis, name))) for name in row.parts
        ]
    for name, kind in KINDS.items():
        assert f"\n| `{name}:{kind.arguments}` | {kind.help} |" in text


def _plain(text: str) -> str:
    """Bars have to be written otherwise in a table."""
    return text.replace("\\|", "|").replace("‖", "||")


def test_a_method_in_toml_is_read() -> None:
    (example,) = blocks(ROOT / "docs/methods.md", "toml")
    assert from_dict(tomllib.loads(example)).method.part_name("order") == "grab"


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
