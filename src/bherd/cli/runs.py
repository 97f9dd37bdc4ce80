"""`bherd runs`: the runs below a folder, a line each."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bherd.report.listing import Line


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "runs",
        help="list runs with how they ended",
        description="List every run below a folder: what it was, how far it came and what it reached.",
    )
    parser.add_argument(
        "directory", nargs="?", type=Path, default=Path("runs"), metavar="DIR", help="where to look (runs)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON lines for programs")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    from bherd.report.listing import list_runs

    lines = list_runs(args.directory)
    if args.json:
        for line in lines:
            sys.stdout.write(json.dumps(line._asdict()) + "\n")
        return 0
    if not lines:
        sys.stdout.write(f"no runs below {args.directory}; `bherd run` makes one\n")
        return 0
    for text in _columns(lines):
        sys.stdout.write(text + "\n")
    return 0


def _columns(lines: "list[Line]") -> list[str]:
    """The listing as text, each column as wide as its longest entry."""
    header = ("RUN", "METHOD", "TASK", "SEED", "ROUNDS", "ACCURACY", "TIME", "STATUS")
    rows = [header, *(_row(line) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _row(line: "Line") -> tuple[str, ...]:
    if line.problem is not None:
        return (_printable(line.run), "", "", "", "", "", "", f"unreadable: {_printable(line.problem)}")
    accuracy = "" if line.accuracy is None else f"{100 * line.accuracy:.2f}%"
    return (
        _printable(line.run),
        _printable(line.method),
        _printable(line.task),
        str(line.seed),
        f"{line.rounds_done}/{line.rounds}",
        accuracy,
        f"{line.seconds:.1f} s",
        line.status,
    )


def _printable(text: str) -> str:
    """Control characters in names must not move a terminal's cursor."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
