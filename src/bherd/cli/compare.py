"""`bherd compare`: methods side by side on the same task and seeds."""

import argparse
import importlib
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bherd.cli.options import add_config_options, config_from
from bherd.cli.run import add_output_options
from bherd.errors import InputError

if TYPE_CHECKING:
    from bherd.comparison import Interval, Row
    from bherd.jobs import Job

_EPILOG = """\
A METHOD may carry its own settings: NAME:alpha=A,step=equation|amplified,server_lr=R.

examples:
  bherd compare fedavg bherd-fedavg --seeds 5 --rounds 50 --lr 1e-3
  bherd compare fedavg:server_lr=2 bherd-fedavg:step=amplified random-fedavg:step=amplified --no-reshuffle
  bherd compare scaffold bherd-scaffold --model cnn --partition dirichlet:0.3 --seeds 3 --target 0.9

A speed-up of an amplified method means something only beside the same step without selection (fedavg
with server_lr = 1/alpha) and with random selection. Starting the same command again with the same --out
continues what was stopped.
"""


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "compare",
        help="methods side by side, over several seeds",
        description="Run methods on the same task and seeds and compare them, with 95% intervals.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("methods", nargs="+", metavar="METHOD", help="methods, see `bherd list`")
    parser.add_argument("--seeds", type=int, default=3, metavar="K", help="seeds 0 to K-1 (3)")
    parser.add_argument(
        "--target",
        type=float,
        metavar="ACCURACY",
        help="accuracy to reach, e.g. 0.8 (what all reach)",
    )
    parser.add_argument("--jobs", type=int, default=0, metavar="J", help="runs at the same time; 0 = cores")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder of the comparison (runs/compare)")
    add_config_options(parser, one_run=False)
    add_output_options(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    base = config_from(args)
    if args.seeds < 1:
        raise InputError(f"--seeds is {args.seeds}, but at least 1 is needed")
    if args.target is not None and not 0 < args.target <= 1:
        raise InputError(f"--target is {args.target}, but an accuracy between 0 and 1 is expected")
    from bherd.comparison import collect, default_target, parse_variant, plan

    variants = [parse_variant(text, base) for text in args.methods]
    out = args.out or Path("runs/compare")
    jobs = plan(variants, range(args.seeds), out)
    run_with_progress(jobs, args.jobs or os.cpu_count() or 1, quiet=args.quiet or args.json)
    rows = collect(jobs)
    target = args.target or default_target(rows)
    if args.json:
        sys.stdout.write(json.dumps(as_json(rows, target)) + "\n")
    elif not args.quiet:
        print_table(rows, target)
        finish(rows, target, jobs, out)
    return 3 if any(row.diverged for row in rows) else 0


def finish(rows: "Sequence[Row]", target: float, jobs: "Sequence[Job]", out: Path) -> None:
    """Save the picture and the report, and say where everything is."""
    from bherd.plots import plot_comparison
    from bherd.report import build

    task = jobs[0].config.task
    title = f"{task.dataset}, {task.model}, {task.partition}, {task.clients} clients"
    picture = plot_comparison(rows, out / "comparison.png", title=title, target=target)
    report = build([out], out / "report.html")
    sys.stdout.write(f"picture: {picture}\nruns:    {out}\nreport:  {report}\n")


def run_with_progress(jobs: "Sequence[Job]", processes: int, *, quiet: bool) -> None:
    """Do the jobs under a bar that counts runs, or quietly."""
    from bherd.cli import EXIT_INTERRUPTED
    from bherd.jobs import run_job
    from bherd.processes import in_processes

    done = in_processes(run_job, jobs, processes, meanwhile=None if quiet else _import_for_the_end)
    try:
        if quiet or not sys.stdout.isatty():
            for _ in done:
                pass
        else:
            _under_a_bar(done, len(jobs))
    except KeyboardInterrupt:
        sys.stderr.write("bherd: stopped; start the same command again to go on\n")
        raise SystemExit(EXIT_INTERRUPTED) from None


def _import_for_the_end() -> None:
    """What the table and `finish` need, which takes seconds to import."""
    for name in ("bherd.plots", "bherd.report.payload", "rich.table", "scipy.special"):
        importlib.import_module(name)


def _under_a_bar(done: Iterator[Any], total: int) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("runs"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, transient=True) as progress:
        bar = progress.add_task("", total=total)
        for _ in done:
            progress.advance(bar)


def print_table(rows: "Sequence[Row]", target: float) -> None:
    """The comparison as a table on standard output."""
    from rich.console import Console
    from rich.table import Table

    seeds = len(rows[0].curves)
    table = Table(title=f"mean over {seeds} seeds ± half of the 95% interval", title_justify="left")
    table.add_column("method", no_wrap=True)
    for heading in ("final accuracy", f"rounds to {target:.0%}", "seconds to it", "diverged"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row.label,
            _text(row.final_accuracy(), 100, "%", seeds),
            _text(row.rounds_to(target), 1, "", seeds),
            _text(row.seconds_to(target), 1, "", seeds),
            str(row.diverged) if row.diverged else "",
        )
    Console(width=None if sys.stdout.isatty() else 120).print(table)


def _text(value: "Interval", scale: float, unit: str, seeds: int) -> str:
    if value.samples == 0:
        return "not reached"
    text = f"{scale * value.mean:.2f}{unit}"
    if not math.isnan(value.half_width):
        text += f" ± {scale * value.half_width:.2f}"
    return text if value.samples == seeds else f"{text} ({value.samples} of {seeds})"


def as_json(rows: "Sequence[Row]", target: float) -> dict[str, Any]:
    """The comparison for programs; an unknown number is null."""

    def plain(value: "Interval") -> dict[str, Any]:
        numbers = {"mean": value.mean, "half_width": value.half_width}
        return {**{k: None if math.isnan(v) else v for k, v in numbers.items()}, "samples": value.samples}

    return {
        "target": target,
        "methods": [
            {
                "method": row.label,
                "final_accuracy": plain(row.final_accuracy()),
                "rounds_to_target": plain(row.rounds_to(target)),
                "seconds_to_target": plain(row.seconds_to(target)),
                "diverged": row.diverged,
            }
            for row in rows
        ],
    }
