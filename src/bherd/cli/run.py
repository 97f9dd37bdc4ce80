"""`bherd run`: one federation, into a run directory."""

import argparse
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bherd.cli.options import add_config_options, config_from
from bherd.config import Config
from bherd.labels import describe
from bherd.names import is_own_task

_EPILOG = """\
examples:
  bherd run --method bherd-fedavg --alpha 0.5 --rounds 50 --lr 1e-3
  bherd run --method bherd-fedavg --step amplified --dataset mnist --partition case3
  bherd run --method scaffold --model mlp --lr 0.05 --batch-size 20 --partition dirichlet:0.3 --clients 20
  bherd run --method fedavg --selector herding,alpha=0.3 --server adam,lr=0.01 --transform quantize,bits=4
  bherd run --method fedavg,server=adam,server.lr=0.01 --participation shuffled --cohort 2
  bherd run --method bherd-fedprox --mu 0.1 --alpha linear:0.3:1.0:50 --shipped mean-of-last,k=10
  bherd run --config experiment.toml --seed 7 --set run.eval_train=false
  bherd run --model mypackage.models:resnet --dataset mydata.npz --device cuda

The results go to runs/ unless --out says otherwise; `bherd resume DIR` continues a run that was stopped.
"""


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "run",
        help="run one federation into a run directory",
        description="Run one federation: a method, a task, a seed. Defaults are in brackets.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_config_options(parser, one_run=True)
    parser.add_argument("--out", type=Path, metavar="DIR", help="the run directory (default: runs/NAME)")
    add_output_options(parser)
    add_tracking_option(parser)
    parser.set_defaults(execute=execute)


def add_tracking_option(parser: argparse.ArgumentParser) -> None:
    """--track, for the commands that run a single federation."""
    parser.add_argument(
        "--track",
        action="append",
        default=[],
        metavar="TRACKER",
        help="also log to tensorboard, mlflow or wandb (offline); can be given several times",
    )


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """--quiet and --json, for every command that runs federations."""
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing but errors")
    parser.add_argument("--json", action="store_true", help="print JSON lines for programs")


def execute(args: argparse.Namespace) -> int:
    config = config_from(args)
    out = args.out or default_directory(config)
    from bherd.runs.life import run
    from bherd.runs.new import check_new
    from bherd.session import prepare

    check_new(out)
    session = prepare(config)
    step = session.step()
    notes = [note for note in (session.reading, None if step is None else step.note) if note is not None]
    return work_with_progress(
        session.config, out, args, lambda on_round: run(session, out, on_round), notes=notes
    )


def work_with_progress(
    config: Config, out: Path, args: argparse.Namespace, work: Any, *, notes: Sequence[str] = ()
) -> int:
    """Do the work of a run with progress, say how it ended, and turn that into an exit code.

    Args:
        config: the run's configuration, resolved.
        out: its directory.
        args: the command's flags.
        work: does the rounds and returns the summary; it is given what is to be told of each round.
        notes: what the user should know before the first round.

    Returns:
        The exit code.
    """
    from bherd.callbacks import Callback, following, trackers
    from bherd.cli import EXIT_DIVERGED, EXIT_DONE, EXIT_INTERRUPTED
    from bherd.cli.progress import figures, reporter

    tracking = trackers(args.track)
    with reporter(config.train.rounds, quiet=args.quiet, as_json=args.json) as report:
        report.message(describe(config))
        for note in notes:
            report.message(f"note: {note}")
        try:
            with following([Callback(report.round), *tracking], config, out) as (on_round, keep):
                summary = keep(work(on_round))
        except KeyboardInterrupt:
            report.close()
            sys.stderr.write(f"bherd: stopped; continue with `bherd resume {out}`\n")
            return EXIT_INTERRUPTED
    if args.json:
        sys.stdout.write(json.dumps({"summary": summary, "directory": str(out)}) + "\n")
    diverged = summary["status"] == "diverged"
    if diverged:
        sys.stderr.write(
            f"bherd: diverged in round {summary['diverged_at']}: NaN or infinity in the loss or the "
            "parameters; a smaller --lr or --server-lr may help\n"
        )
    if not (args.quiet or args.json):
        ended = "no evaluation"
        if summary["final"]:
            ended = figures(summary["final"], own_metric=is_own_task(config.task.dataset))
        done = summary["rounds_done"]
        sys.stdout.write(f"{done} round{'s' * (done != 1)} in {summary['seconds']:.1f} s: {ended}\n")
        sys.stdout.write(f"results: {out}\n")
    return EXIT_DIVERGED if diverged else EXIT_DONE


def default_directory(config: Config) -> Path:
    """runs/METHOD-DATASET-PARTITION-seedS, with a number behind it if that is taken."""
    task = config.task
    name = "-".join(
        [
            config.method.name,
            Path(task.dataset).stem,
            task.partition.replace(":", ""),
            f"seed{config.run.seed}",
        ]
    )
    for number in itertools.count(1):
        path = Path("runs") / (name if number == 1 else f"{name}-{number}")
        if not path.exists():
            return path
    raise AssertionError("unreachable")
