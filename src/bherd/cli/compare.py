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

from bherd.cli.options import add_config_options, given_by
from bherd.cli.run import add_output_options
from bherd.cli.variants import not_common, print_header, with_controls
from bherd.config import from_dict
from bherd.default_model import with_model
from bherd.errors import InputError
from bherd.method_texts import SHORTHANDS

if TYPE_CHECKING:
    from bherd.cli.table import Column
    from bherd.many.compare import Row
    from bherd.many.jobs import Job
    from bherd.statistics import Interval, Reach

_EPILOG = """\
A METHOD is NAME[,key=value]...: fedavg,server=adam,server.lr=0.1 or bherd-fedavg,alpha=0.3,step=amplified. A
flag such as --step goes to the methods that have it, one such as --server to all.

examples:
  bherd compare fedavg bherd-fedavg --seeds 5 --rounds 50 --lr 1e-3
  bherd compare fedavg bherd-fedavg,step=amplified --controls --seeds 5 --rounds 50 --lr 1e-3
  bherd compare fedavg fedprox,mu=0.1 fedadam,server.lr=0.01 --cohort 2 --rounds 50 --lr 1e-3
  bherd compare scaffold bherd-scaffold --model cnn --lr 0.05 --batch-size 20 --partition dirichlet:0.3

All methods visit their samples in the same way: in a new order every epoch, unless --order says otherwise. A
speed-up of a method with a longer step means something only beside the same step without selection
(fedavg,server_lr=2 for alpha = 0.5) and with random selection: --controls. Starting the same command again
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
    parser.add_argument(
        "--controls",
        action="store_true",
        help="add to each method that selects: its matched step; no selection and a random share at its step",
    )
    parser.add_argument("--jobs", type=int, default=0, metavar="J", help="runs at the same time; 0 = cores")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder (runs/compare, runs/compare-2, ...)")
    add_config_options(parser, one_run=False)
    add_output_options(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    given = given_by(args)
    method = given.pop("method", {})
    method.pop("name", None)
    base = with_model(from_dict(given)).replace(method="fedavg", order="reshuffled")
    if args.seeds < 1:
        raise InputError(f"--seeds is {args.seeds}, but at least 1 is needed")
    if args.target is not None and not 0 < args.target <= 1:
        raise InputError(f"--target is {args.target}, but an accuracy between 0 and 1 is expected")
    from bherd.many.compare import collect, default_target, free_folder, parse_variant, plan

    variants = [parse_variant(text, base, method) for text in args.methods]
    notes = not_common({key: method[key] for key in (*SHORTHANDS, "step") if key in method}, variants)
    if args.controls:
        variants, unknown = with_controls(variants, range(args.seeds))
        notes += unknown
    out = args.out or free_folder(variants, range(args.seeds))
    jobs = plan(variants, range(args.seeds), out)
    talks = not (args.quiet or args.json)
    if talks:
        print_header(jobs)
        if base.task.dataset.endswith(".npz"):
            from bherd.tasks.datasets import load_dataset, reading

            sys.stdout.write(f"note: {reading(load_dataset(base.task.dataset))}\n")
    run_with_progress(jobs, args.jobs or os.cpu_count() or 1, quiet=not talks)
    rows = collect(jobs)
    target = args.target or default_target(rows)
    if args.json:
        sys.stdout.write(json.dumps({**as_json(rows, target, notes), "directory": str(out)}) + "\n")
    elif talks:
        print_comparison(rows, target, notes)
        write_comparison(rows, target, jobs, out)
    return 3 if any(row.diverged for row in rows) else 0


def write_comparison(rows: "Sequence[Row]", target: float, jobs: "Sequence[Job]", out: Path) -> None:
    """Save the picture and the report, and say where everything is."""
    from bherd.plots import plot_comparison
    from bherd.report import build

    task = jobs[0].config.task
    orders = {str(job.config.method.order) for job in jobs}
    order = f", {orders.pop()} order" if len(orders) == 1 else ""
    title = f"{task.dataset}, {task.model}, {task.partition}, {task.clients} clients{order}"
    picture = plot_comparison(rows, out / "comparison.png", title=title, target=target)
    report = build([out], out / "report.html")
    sys.stdout.write(f"picture: {picture}\nruns:    {out}\nreport:  {report}\n")


def run_with_progress(jobs: "Sequence[Job]", processes: int, *, quiet: bool) -> None:
    """Do the jobs under a bar that counts runs, or quietly."""
    from bherd.cli import EXIT_INTERRUPTED
    from bherd.many.jobs import run_job
    from bherd.many.processes import in_processes

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
    """What the table and `write_comparison` need, which takes seconds to import."""
    for name in ("bherd.plots", "bherd.report.payload", "rich.table", "scipy.special"):
        importlib.import_module(name)


def _under_a_bar(done: Iterator[Any], total: int) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("runs"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, transient=True) as progress:
        bar = progress.add_task("", total=total)
        for _ in done:
            progress.advance(bar)


def print_comparison(rows: "Sequence[Row]", target: float, notes: Sequence[str] = ()) -> None:
    """The comparison as a table, and what it shows, on standard output.

    Args:
        rows: one for each method.
        target: the accuracy of 'rounds to'.
        notes: further sentences to end with.
    """
    from bherd.cli.table import print_prose, print_table
    from bherd.conclusion import conclude
    from bherd.many.compare import notes_on_steps
    from bherd.step_notes import lengths_differ

    seeds = len(rows[0].curves)
    how = "accuracy: mean ± half of its 95% interval; rounds, seconds: median (range)"
    if lengths_differ([row.step for row in rows]):
        how = f"step: in units of FedAvg's; {how}"
    print_table(
        columns(rows, target), title=f"{seeds} seed{'s' * (seeds != 1)}; {how}" if seeds > 1 else "1 seed"
    )
    sys.stdout.write("\n")
    said = [*conclude([row.contender() for row in rows]), *notes_on_steps(rows), *notes]
    for sentence in said:
        print_prose(sentence)
    sys.stdout.write("\n")


def columns(rows: "Sequence[Row]", target: float) -> "list[Column]":
    """The columns of the comparison; where the terminal is narrow, the highest priority goes first."""
    from bherd.cli.table import Column
    from bherd.step_notes import lengths_differ

    steps = [row.step for row in rows]
    length = Column("step", ["?" if step is None else f"{step.length:.2f}×" for step in steps], 1)
    diverged = Column("diverged", [str(row.diverged or "") for row in rows], 1)
    return [
        Column("method", [row.label for row in rows], words=True),
        *([length] if lengths_differ(steps) else []),
        Column("final accuracy", [_accuracy(row.final_accuracy()) for row in rows]),
        Column(f"rounds to {target:.0%}", [_reach(row.rounds_to(target), 0) for row in rows], 2),
        Column("seconds to it", [_reach(row.seconds_to(target), 2) for row in rows], 3),
        *([diverged] if any(row.diverged for row in rows) else []),
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


def as_json(rows: "Sequence[Row]", target: float, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The comparison for programs; an unknown or infinite number is null."""
    from bherd.conclusion import conclude
    from bherd.many.compare import notes_on_steps

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
            "step": None if row.step is None else {**row.step._asdict(), "note": row.step.note},
        }

    return {
        "target": target,
        "methods": [method(row) for row in rows],
        "conclusion": conclude([row.contender() for row in rows]),
        "notes": [*notes_on_steps(rows), *notes],
    }
