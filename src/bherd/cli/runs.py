"""`bherd runs`: the runs below a folder, a line each."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bherd.cli.table import Column
    from bherd.report.listing import ListedRun


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
    from bherd.cli.table import print_table

    print_table(_columns(lines), framed=False)
    return 0


def _columns(lines: "list[ListedRun]") -> "list[Column]":
    """The listing; where the terminal is narrow, the time goes first, then what the run's name says too."""
    from bherd.cli.table import Column

    run, method, task, seed, rounds, accuracy, time, status = zip(*map(_row, lines), strict=True)
    return [
        Column("RUN", run, words=True, narrowest=48),
        Column("METHOD", method, 1, words=True),
        Column("TASK", task, 3, words=True),
        Column("SEED", seed, 2),
        Column("ROUNDS", rounds),
        Column("ACCURACY", accuracy),
        Column("TIME", time, 4),
        Column("STATUS", status, words=True),
    ]


def _row(line: "ListedRun") -> tuple[str, ...]:
    if line.problem is not None:
        return (_printable(line.run), "", "", "", "", "", "", f"unreadable: {_printable(line.problem)}")
    accuracy = "" if line.accuracy is None else f"{100 * line.accuracy:.2f}%"
    if line.accuracy is not None and line.own_task:
        accuracy = f"{line.accuracy:.4g}"
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
