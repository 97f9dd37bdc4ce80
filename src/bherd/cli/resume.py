"""`bherd resume`: continue a run that was stopped or killed."""

import argparse
import sys
from pathlib import Path
from typing import Any

from bherd.cli.run import add_output_options, add_tracking_option, work_with_progress


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "resume",
        help="continue a run that was stopped or killed",
        description=(
            "Continue a run from its last checkpoint. The result is bit for bit that of a run which was "
            "never stopped. A run that is complete is left as it is."
        ),
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="the run directory")
    parser.add_argument("--workers", type=int, metavar="W", help="clients trained at the same time")
    parser.add_argument(
        "--accept-changed-code",
        action="store_true",
        help="go on although a part or a model of your own is not the code that the run began with",
    )
    add_output_options(parser)
    add_tracking_option(parser)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    from bherd.runs.life import resume
    from bherd.runs.read import read_config

    config = read_config(args.directory)
    return work_with_progress(
        config,
        args.directory,
        args,
        lambda on_round: resume(
            args.directory,
            on_round,
            workers=args.workers,
            on_warning=_warn,
            accept_changed_code=args.accept_changed_code,
        ),
    )


def _warn(message: str) -> None:
    sys.stderr.write(f"bherd: {message}\n")
