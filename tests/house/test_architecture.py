"""No arrow upwards: the imports of the package follow the drawing in docs/architecture.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import bherd
from tests.places import ROOT

PACKAGE = Path(bherd.__file__).parent
NOT_ROOMS = {"__init__", "__main__", "data"}

Edges = dict[tuple[str, str], str]
"""(room, imported room) -> a module that does it"""


def layers() -> list[list[str]]:
    """The rooms of the page, from below to above."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    found = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert found is not None
    return [line.split() for line in found[1].splitlines()]


def rooms() -> set[str]:
    found = (path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())
    return {path.stem for path in found} - NOT_ROOMS


def imported(tree: ast.AST) -> Iterator[str]:
    """Everything of ours that a module imports, inside functions too, but not for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            yield from imported(node)


def edges() -> Edges:
    known, found = rooms(), {}
    for path in sorted(PACKAGE.rglob("*.py")):
        own = path.relative_to(PACKAGE).with_suffix("").parts[0]
        if own in NOT_ROOMS:
            continue
        for name in imported(ast.parse(path.read_text(encoding="utf-8"))):
            first, *rest = name.split(".")
            if first == "bherd" and rest and rest[0] in known and rest[0] != own:
                found[own, rest[0]] = str(path.relative_to(PACKAGE))
    return found


def upwards(found: Edges, order: list[list[str]]) -> list[str]:
    level = {room: number for number, line in enumerate(order) for room in line}
    return [f"{path}: {one} -> {other}" for (one, other), path in found.items() if level[other] > level[one]]


def cycles(found: Edges) -> set[str]:
    """The rooms that can reach themselves."""
    reach: dict[str, set[str]] = {}
    for one, other in found:
        reach.setdefault(one, set()).add(other)
    for _ in range(len(reach)):
        for others in reach.values():
            others.update(*(reach.get(other, set()) for other in set(others)))
    return {room for room, others in reach.items() if room in others}


def test_the_page_draws_every_room_once() -> None:
    drawn = [room for line in layers() for room in line]
    assert sorted(drawn) == sorted(rooms())


def test_no_arrow_points_upwards() -> None:
    assert upwards(edges(), layers()) == []


def test_no_two_rooms_import_each_other() -> None:
    assert cycles(edges()) == set()


def test_a_wrong_arrow_would_be_seen() -> None:
    order = [["low"], ["high"]]
    assert upwards({("low", "high"): "low.py"}, order) == ["low.py: low -> high"]
    assert cycles({("a", "b"): "a.py", ("b", "c"): "b.py", ("c", "a"): "c.py"}) == {"a", "b", "c"}
    assert len(edges()) > 50
