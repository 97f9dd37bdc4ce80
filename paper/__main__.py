"""``python -m paper``: the paper's figures, each one a name, with controls, statistics and a verdict."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bherd.errors import BherdError, InputError
from paper.scales import SCALE_NAMES, WORKLOADS

PROGRAM = "python -m paper"
FIGURES = (
    *("step", "2a", "2b", "3a", "3b", "3c", "3d", "4a", "4b", "4c", "4d", "4e"),
    *("eta", "rates", "theorem", "all"),
)
EXIT_DONE, EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130
EXAMPLES = """\
figures:
  2a, 2b   the methods on three problems and three cases     3a-3d  sweeps over α, E, B, N
  4a-4c    which steps were kept   4d  distances   4e  reshuffling
  step     what selection buys at the same step length (ours)
  eta      the learning rate of the CNN at small scales      rates  BHerd at smaller ones (ours)
  theorem  Theorem 1's bound on the SVM

examples:
  python -m paper all --scale smoke                          minutes: every figure, tiny
  python -m paper step 3a --scale quick --seeds 3
  python -m paper all --scale paper --problems svm-mnist     the SVM at the paper's scale
  python -m paper all --scale paper --dry-run                how many runs, how long, how much memory
  python -m paper all --scale paper --redraw                 figures and page from the tables, no runs

A curve without runs keeps the rows that the tables in --out have of it: to begin anew, name another folder.
Stop it whenever you like and start it again: finished runs are kept, unfinished ones continue.

exit codes: 0 done, 1 a run failed, 2 bad input, 130 stopped by Ctrl-C (nothing is lost)
"""


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    parser = OneLineParser(
        prog=PROGRAM,
        description="Run the paper's experiments and write tables, figures and a verdict.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=f"{', '.join(FIGURES)} (default: all)")
    parser.add_argument("--scale", choices=SCALE_NAMES, default="smoke", help="default: %(default)s")
    parser.add_argument("--seeds", type=int, metavar="K", help="seeds 0 to K-1 (default: the scale's own)")
    parser.add_argument("--jobs", type=int, default=0, metavar="J", help="runs at a time (default: cores)")
    parser.add_argument(
        "--problems", nargs="+", choices=WORKLOADS, default=WORKLOADS, metavar="P", help=", ".join(WORKLOADS)
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
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit code."""
    args = build_parser().parse_args(arguments)
    try:
        return execute(args)
    except BherdError as error:
        sys.stderr.write(f"{PROGRAM}: {error}\n")
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write(f"{PROGRAM}: stopped; start the same command again to go on\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_DONE


def execute(args: argparse.Namespace) -> int:
    """Run what was asked for: 0 when everything is there, 1 when a run failed."""
    for name in args.figures:
        if name not in FIGURES:
            raise InputError(f"there is no figure {name!r}; known are {', '.join(FIGURES)}")
    if args.ray_address is not None and args.engine != "ray":
        raise InputError(f"--ray-address {args.ray_address} needs --engine ray")
    if args.jobs < 0:
        raise InputError(f"--jobs is {args.jobs}, but a number of processes is expected; 0 is one a core")
    from paper.reproduce import Options, reproduce

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
    return EXIT_FAILED if reproduce(options, print_line) else EXIT_DONE


def print_line(text: str) -> None:
    """One line on standard output, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
