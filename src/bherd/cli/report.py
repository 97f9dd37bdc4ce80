"""`bherd report`: runs as one HTML page that opens anywhere."""

import argparse
import sys
from pathlib import Path
from typing import Any

_EPILOG = """\
examples:
  bherd report runs/my-run                          one run
  bherd report runs/my-comparison                   every run below a folder, side by side
  bherd report runs/a runs/b -o a-against-b.html    any runs together

The page is complete in itself: it needs no network and no server. Runs with the same task are compared
seed by seed. Make runs with --snapshot-every 10 to look inside single rounds.
"""


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "report",
        help="turn runs into one interactive HTML page",
        description="Turn one run, a comparison or many runs into a single self-contained HTML page.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="run directory, or a folder of runs"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("report.html"),
        metavar="FILE.html",
        help="where to write the page (report.html)",
    )
    parser.add_argument("--title", metavar="TEXT", help="heading of the page (default: what was run)")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    from bherd.report import build

    output = build(args.runs, args.output, args.title)
    sys.stdout.write(f"report: {output}\n")
    return 0
