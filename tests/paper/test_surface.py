"""paper/ is a user of bherd: it imports public names, and the modules that docs/architecture.md lists."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bherd

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "paper").rglob("*.py"))


def listed() -> list[str]:
    """The modules of the page's table."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `(bherd\.[\w.]+)` \|", page, re.MULTILINE)


def imported(source: str) -> Iterator[str]:
    """Everything of bherd's that a module imports, wherever it does, by its full name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bherd":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (f"{alias.name}.*" for alias in node.names if alias.name.split(".")[0] == "bherd")


def is_public(name: str) -> bool:
    module, _, last = name.rpartition(".")
    if any(part.startswith("_") for part in name.split(".")):
        return False
    return module in listed() or name in listed() or (module == "bherd" and last in (*bherd.__all__, "*"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_paper_imports_what_is_public(path: Path) -> None:
    assert [name for name in imported(path.read_text(encoding="utf-8")) if not is_public(name)] == []


def test_the_page_lists_no_more_than_is_imported() -> None:
    used = {name for path in FILES for name in imported(path.read_text(encoding="utf-8"))}
    found = {one for one in listed() for name in used if name == one or name.rpartition(".")[0] == one}
    assert sorted(found) == sorted(listed())


def test_what_is_not_public_would_be_seen() -> None:
    source = """
import bherd
import bherd.loop.client
from bherd import herd, session
from bherd.config import Config, _table
def later():
    from bherd.runs import life, read
"""
    private = ["bherd.loop.client.*", "bherd.session", "bherd.config._table", "bherd.runs.life"]
    assert [name for name in imported(source) if not is_public(name)] == private
