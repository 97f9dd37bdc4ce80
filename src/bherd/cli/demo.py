"""`bherd demo`: the product in one command, on embedded data."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

ALPHA = 0.5
FEDAVG, BHERD = "fedavg", f"bherd-fedavg,alpha={ALPHA}"
AMPLIFIED = f"bherd-fedavg,alpha={ALPHA},step=amplified"
FEDAVG_CONTROL = f"fedavg,server_lr={1 / ALPHA:g}"
RANDOM_CONTROL = f"random-fedavg,alpha={ALPHA},step=amplified"
METHODS = (FEDAVG, BHERD, AMPLIFIED, FEDAVG_CONTROL, RANDOM_CONTROL)

_DESCRIPTION = (
    "Compare FedAvg with BHerd at the paper's step and at a longer one, beside the two controls that tell a "
    "good choice of gradients from a longer step: FedAvg at that step, and a random half of the gradients at "
    "that step. Embedded MNIST digits, five clients that share no label (case 2), SVM, all methods in a new "
    "sample order every epoch, several seeds. About a minute."
)


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "demo",
        help="BHerd against FedAvg with its controls, in about a minute",
        description=_DESCRIPTION,
    )
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), metavar="DIR", help="(runs/demo)")
    parser.add_argument("--seeds", type=int, default=5, metavar="K", help="seeds 0 to K-1 (5)")
    parser.add_argument("--rounds", type=int, default=60, metavar="T", help="rounds (60)")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    from bherd.cli.compare import print_comparison, run_with_progress, write_comparison
    from bherd.cli.table import print_prose
    from bherd.cli.variants import print_header
    from bherd.config import Config
    from bherd.many.compare import collect, default_target, parse_variant, plan

    print_prose(_DESCRIPTION)
    sys.stdout.write("\n")
    base = Config().replace(method="fedavg", model="svm", rounds=args.rounds, lr=1e-3, snapshot_every=10)
    jobs = plan([parse_variant(text, base) for text in METHODS], range(args.seeds), args.out)
    print_header(jobs)
    run_with_progress(jobs, os.cpu_count() or 1, quiet=False)
    rows = collect(jobs)
    target = default_target(rows)
    print_comparison(rows, target)
    write_comparison(rows, target, jobs, args.out)
    return 0
