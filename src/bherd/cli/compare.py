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
    from bherd.cli.table import Column
    from bherd.comparison import Row
    from bherd.jobs import Job
    from bherd.statistics import Interval, Reach

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
    if base.task.dataset.endswith(".npz"):
        from bherd.tasks.datasets import load_dataset, reading

        note = reading(load_dataset(base.task.dataset))
        sys.stdout.write("" if args.quiet or args.json else f"note: {note}\n")
    run_with_progress(jobs, args.jobs or os.cpu_count() or 1, quiet=args.quiet or args.json)
    rows = collect(jobs)
    target = args.target or default_target(rows)
    if args.json:
        sys.stdout.write(json.dumps(as_json(rows, target)) + "\n")
    elif not args.quiet:
        print_comparison(rows, target)
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


def print_comparison(rows: "Sequence[Row]", target: float) -> None:
    """The comparison as a table, and what it shows, on standard output."""
    from bherd.cli.table import print_prose, print_table
    from bherd.conclusion import conclude

    seeds = len(rows[0].curves)
    how = "accuracy: mean ± half of its 95% interval; rounds, seconds: median (range)"
    print_table(
        columns(rows, target), title=f"{seeds} seed{'s' * (seeds != 1)}; {how}" if seeds > 1 else "1 seed"
    )
    sys.stdout.write("\n")
    for sentence in conclude([row.contender() for row in rows]):
        print_prose(sentence)
    sys.stdout.write("\n")


def columns(rows: "Sequence[Row]", target: float) -> "list[Column]":
    """The columns of the comparison; where the terminal is narrow, the highest priority goes first."""
    from bherd.cli.table import Column

    fallen = Column("diverged", [str(row.diverged or "") for row in rows], 1)
    return [
        Column("method", [row.label for row in rows], words=True),
        Column("final accuracy", [_accuracy(row.final_accuracy()) for row in rows]),
        Column(f"rounds to {target:.0%}", [_reach(row.rounds_to(target), 0) for row in rows], 2),
        Column("seconds to it", [_reach(row.seconds_to(target), 2) for row in rows], 3),
        *([fallen] if any(row.diverged for row in rows) else []),
    ]


def _accuracy(value: "Interval") -> str:
    if value.samples == 0:
        return "diverged"
    text = f"{100 * value.mean:.2f}%"
    if not math.isnan(value.half_width):
        text += f" ± {100 * value.half_width:.2f}"
    return f"{text} ({value.samples} of {value.samples + value.lost})" if value.lost else text


def _reach(value: "Reach", digits: int) -> str:
    """Median and range; first of all, how many runs never got there."""
    if value.reached == 0:
        return "not reached"

    def number(one: float) -> str:
        return "∞" if math.isinf(one) else f"{one:.{digits}f}".removesuffix(".0")

    missed = value.runs - value.reached
    high = math.inf if missed else value.high
    text = number(value.median)
    if value.runs > 1 and value.low < high:
        text += f" ({number(value.low)}–{number(high)})"
    return f"not in {missed} of {value.runs}; {text}" if missed else text


def as_json(rows: "Sequence[Row]", target: float) -> dict[str, Any]:
    """The comparison for programs; an unknown or infinite number is null."""
    from bherd.conclusion import conclude

    def plain(value: "Interval | Reach", **more: float) -> dict[str, Any]:
        numbers = {**value._asdict(), **more}
        return {name: number if math.isfinite(number) else None for name, number in numbers.items()}

    def method(row: "Row") -> dict[str, Any]:
        final = row.final_accuracy()
        return {
            "method": row.label,
            "final_accuracy": plain(final, half_width=final.half_width),
            "rounds_to_target": plain(row.rounds_to(target)),
            "seconds_to_target": plain(row.seconds_to(target)),
            "diverged": row.diverged,
        }

    return {
        "target": target,
        "methods": [method(row) for row in rows],
        "conclusion": conclude([row.contender() for row in rows]),
    }
