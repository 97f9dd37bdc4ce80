"""``bherd reproduce``: the paper's figures, each one a command, with controls, statistics and a verdict."""

import argparse
import sys
from pathlib import Path

FIGURES = (
    *("step", "2a", "2b", "3a", "3b", "3c", "3d", "4a", "4b", "4c", "4d", "4e"),
    *("eta", "rates", "theorem", "all"),
)
PROBLEMS = ("svm-mnist", "cnn-mnist", "cnn-cifar10")
EXAMPLES = """\
figures:
  2a, 2b   the methods on three problems and three cases     3a-3d  sweeps over α, E, B, N
  4a-4c    which steps were kept   4d  distances   4e  reshuffling
  step     what selection buys at the same step length (ours)
  eta      the learning rate of the CNN at small scales      rates  BHerd at smaller ones (ours)
  theorem  Theorem 1's bound on the SVM

examples:
  bherd reproduce all --scale smoke                          minutes: every figure, tiny
  bherd reproduce step 3a --scale quick --seeds 3
  bherd reproduce all --scale paper --problems svm-mnist     the SVM at the paper's scale
  bherd reproduce all --scale paper --dry-run                how many runs, how long, how much memory
  bherd reproduce all --scale paper --redraw                 figures and page from the tables, no runs

A curve without runs keeps the rows that the tables in --out have of it: to begin anew, name another folder.
Stop it whenever you like and start it again: finished runs are kept, unfinished ones continue.
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds ``reproduce``."""
    parser = subparsers.add_parser(
        "reproduce",
        help="the paper's figures, with controls, statistics and a verdict",
        description="Run the paper's experiments and write tables, figures and a verdict.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"{', '.join(FIGURES)} (default: all)")
    parser.add_argument(
        "--scale", choices=("smoke", "quick", "paper"), default="smoke", help="default: %(default)s"
    )
    parser.add_argument("--seeds", type=int, metavar="K", help="seeds 0 to K-1 (default: the scale's own)")
    parser.add_argument("--jobs", type=int, default=0, metavar="J", help="runs at a time (default: cores)")
    parser.add_argument(
        "--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS, metavar="P", help=", ".join(PROBLEMS)
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("runs/reproduce"),
        metavar="DIR",
        help="where the runs go (default: %(default)s)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="where tables and figures go (default: %(default)s)",
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE.md",
        help="the verdict's page (default: docs/reproduction.md; smoke: beside its tables)",
    )
    parser.add_argument(
        "--engine",
        choices=("processes", "ray"),
        default="processes",
        help="processes of this machine, or a Ray cluster (extra: bherd[ray]); default: %(default)s",
    )
    parser.add_argument(
        "--ray-address",
        metavar="HOST:PORT",
        help="the cluster, or 'auto' (default: a local Ray instance); it must see --work as a shared folder",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what it would take, and stop")
    parser.add_argument(
        "--redraw", action="store_true", help="run nothing: figures and page anew from the tables in --out"
    )
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Run the command: 0 when everything is there, 1 when a run failed."""
    from bherd.errors import InputError
    from bherd.experiments.reproduce import Options, reproduce
    from bherd.names import did_you_mean

    for name in args.figures:
        if name not in FIGURES:
            raise InputError(f"there is no figure {name!r}{did_you_mean(name, FIGURES)}")
    if args.ray_address is not None and args.engine != "ray":
        raise InputError(f"--ray-address {args.ray_address} needs --engine ray")
    if args.jobs < 0:
        raise InputError(f"--jobs is {args.jobs}, but a number of processes is expected; 0 is one a core")
    options = Options(
        figures=tuple(args.figures) or ("all",),
        scale=args.scale,
        seeds=args.seeds,
        jobs=args.jobs,
        problems=tuple(args.problems),
        work=args.work,
        out=args.out,
        page=args.page,
        engine=args.engine,
        ray_address=args.ray_address,
        dry_run=args.dry_run,
        redraw=args.redraw,
    )
    failures = reproduce(options, print_line)
    return 1 if failures else 0


def print_line(text: str) -> None:
    """One line on standard output, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
