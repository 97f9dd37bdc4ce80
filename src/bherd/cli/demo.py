"""`bherd demo`: the product in one command, on embedded data."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bherd.comparison import Row

ALPHA = 0.5
FEDAVG, BHERD = "fedavg", f"bherd-fedavg:alpha={ALPHA}"
AMPLIFIED = f"bherd-fedavg:alpha={ALPHA},step=amplified"
FEDAVG_CONTROL = f"fedavg:server_lr={1 / ALPHA:g}"
RANDOM_CONTROL = f"random-fedavg:alpha={ALPHA},step=amplified"
METHODS = (FEDAVG, BHERD, AMPLIFIED, FEDAVG_CONTROL, RANDOM_CONTROL)

_DESCRIPTION = """\
Compare FedAvg with BHerd in both step lengths and with the two controls that tell a good choice of
gradients from a longer step: FedAvg at that step, and a random half of the gradients at that step.
Embedded MNIST digits, five clients that share no label (case 2), SVM, several seeds. About a minute.
"""


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "demo",
        help="BHerd against FedAvg with its controls, in about a minute",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), metavar="DIR", help="(runs/demo)")
    parser.add_argument("--seeds", type=int, default=5, metavar="K", help="seeds 0 to K-1 (5)")
    parser.add_argument("--rounds", type=int, default=60, metavar="T", help="rounds (60)")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    from bherd.cli.compare import finish, print_table, run_with_progress
    from bherd.comparison import collect, default_target, parse_variant, plan
    from bherd.config import Config

    sys.stdout.write(_DESCRIPTION + "\n")
    base = Config().replace(rounds=args.rounds, lr=1e-3, reshuffle=False, snapshot_every=10)
    jobs = plan([parse_variant(text, base) for text in METHODS], range(args.seeds), args.out)
    run_with_progress(jobs, os.cpu_count() or 1, quiet=False)
    rows = collect(jobs)
    target = default_target(rows)
    print_table(rows, target)
    sys.stdout.write("\n" + verdict(rows) + "\n\n")
    finish(rows, target, jobs, args.out)
    return 0


def verdict(rows: "Sequence[Row]") -> str:
    """One honest sentence on what the table shows, from its numbers."""
    from bherd.comparison import paired_difference

    fedavg, _, amplified, control, random = rows
    gain = paired_difference(fedavg, amplified)
    left = paired_difference(control, amplified)
    chosen = paired_difference(random, amplified)
    return (
        f"At the amplified step BHerd ends {_points(gain.mean)} from FedAvg's accuracy; against FedAvg at "
        f"that same step the difference is {_with_error(left.mean, left.half_width)}, and against a random "
        f"half of the gradients {_with_error(chosen.mean, chosen.half_width)}: "
        + _conclusion(left.mean, left.half_width)
    )


def _points(value: float) -> str:
    return f"{100 * value:+.2f} points"


def _with_error(mean: float, half_width: float) -> str:
    return f"{100 * mean:+.2f} ± {100 * half_width:.2f} points"


def _conclusion(mean: float, half_width: float) -> str:
    if abs(mean) <= half_width or half_width != half_width:
        return "what is gained here comes from the longer step, not from which gradients are kept."
    if mean > 0:
        return "part of the gain here comes from which gradients are kept."
    return "here the choice of gradients costs accuracy; the gain comes from the longer step."
