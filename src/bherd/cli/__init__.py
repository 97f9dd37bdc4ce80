"""The command line. Commands import what they need when they run, so that `bherd --help` is quick."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from bherd.errors import BherdError

COMMANDS = ("run", "compare", "resume", "list", "data", "demo", "report", "runs", "federation")
"""Each is a module of this package with `add_parser(subparsers)`, in the order that help shows them."""

EXIT_DONE, EXIT_BAD_INPUT, EXIT_DIVERGED, EXIT_INTERRUPTED = 0, 2, 3, 130

_EPILOG = """\
first steps:
  bherd demo                                   a comparison on embedded data, in a minute
  bherd run --method bherd-fedavg --lr 1e-3    one federation, into runs/
  bherd compare fedavg bherd-fedavg --lr 1e-3  methods side by side, with intervals
  bherd list                                   every method, model, dataset, partition

exit codes: 0 done, 2 bad input, 3 diverged, 130 stopped by Ctrl-C (nothing is lost: bherd resume)
"""


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = OneLineParser(
        prog="bherd",
        description="Gradient selection for federated learning: BHerd, GraB and honest controls.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    subparsers = parser.add_subparsers(metavar="COMMAND", parser_class=OneLineParser)
    for name in COMMANDS:
        importlib.import_module(f"bherd.cli.{name}").add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = build_parser()
    args = parser.parse_args(arguments)
    if args.version:
        from importlib.metadata import version

        sys.stdout.write(f"bherd {version('bherd')}\n")
        return EXIT_DONE
    if not hasattr(args, "execute"):
        parser.print_help()
        return EXIT_DONE
    if os.getcwd() not in sys.path:  # noqa: PTH109  a user's package.module:factory is found in this folder
        sys.path.append(os.getcwd())  # noqa: PTH109
    try:
        return int(args.execute(args))
    except BherdError as error:
        sys.stderr.write(f"bherd: {error}\n")
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("bherd: stopped\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return EXIT_DONE
