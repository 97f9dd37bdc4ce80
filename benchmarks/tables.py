"""The tables that the benchmarks publish, as Markdown and JSON."""

import json
import os
import platform
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks.race import Timing

DOCS = Path(__file__).parents[1] / "docs" / "performance.md"
RESULTS = Path(__file__).parent / "results"

Cell = str | int | float | None


class Table(NamedTuple):
    """One table: its title, what it shows, its columns and rows."""

    title: str
    note: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


class Target(NamedTuple):
    """A ratio that is to be reached."""

    of: str
    to: str
    at_most: float


def timing_table(
    title: str, note: str, timings: Sequence[Timing], baseline: str, targets: Sequence[Target] = ()
) -> Table:
    """Minimum and median of everybody, and the minimum's ratio to the baseline's and to its target."""
    best = {timing.name: timing.minimum for timing in timings}
    rows: list[tuple[Cell, ...]] = []
    for timing in timings:
        aims = [
            f"{best[t.of] / best[t.to]:.2f} of {t.to} (target {t.at_most})"
            for t in targets
            if t.of == timing.name
        ]
        ratio = timing.minimum / best[baseline]
        rows.append(
            (
                timing.name,
                milliseconds(timing.minimum),
                milliseconds(timing.median),
                f"{ratio:.2f}",
                "; ".join(aims),
            )
        )
    columns = ("what", "minimum, ms", "median, ms", f"ratio to {baseline}", "target")
    return Table(title, note, columns, rows)


def milliseconds(seconds: float) -> str:
    """Three digits, as ms."""
    return f"{seconds * 1e3:.3g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def markdown(table: Table) -> str:
    """The table in Markdown, with its title and note."""
    lines = [
        f"### {table.title}",
        "",
        table.note,
        "",
        _line(table.columns),
        _line(["---"] * len(table.columns)),
    ]
    lines.extend(_line(["" if cell is None else str(cell) for cell in row]) for row in table.rows)
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def publish(part: str, tables: Sequence[Table]) -> None:
    """Print the tables and write them to results/PART.md and results/PART.json."""
    text = "\n".join(markdown(table) for table in tables)
    print(text, flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{part}.md").write_text(text, encoding="utf-8")
    content = {"machine": machine(), "tables": [table._asdict() for table in tables]}
    (RESULTS / f"{part}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def insert_into_docs(part: str) -> None:
    """Put the published tables of a part between its marks in docs/performance.md."""
    text = (RESULTS / f"{part}.md").read_text(encoding="utf-8").strip()
    page = DOCS.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- results: {re.escape(part)} -->\n).*?(<!-- end -->)", re.DOTALL)
    DOCS.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page), encoding="utf-8")


def machine() -> dict[str, Cell]:
    """Where it was measured, and with what."""
    packages = ("torch", "numpy", "numba")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
