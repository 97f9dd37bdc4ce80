"""`bherd list`: everything that can be named on the command line."""

import argparse
import json
import shutil
import sys
import textwrap
from typing import Any

from bherd.config import all_settings
from bherd.parts.presets import BASES, CENTRALIZED, PREFIXES, PRESETS
from bherd.parts.schedule import KINDS
from bherd.parts.spec import complete, describe_part
from bherd.parts.table import TABLE

MODELS = {
    "svm": "squared hinge, even against odd classes, lambda 0.1",
    "logistic": "multinomial logistic regression",
    "mlp": "two hidden layers of 200 units",
    "cnn": "two 5x5x32 convolutions, FC 256",
    "package.module:factory": "your torch.nn.Module",
}
PARTITIONS = {
    "case1": "IID",
    "case2": "labels dealt to clients in turn",
    "case3": "half of the labels IID, half dealt",
    "dirichlet:BETA": "label shares by a Dirichlet draw; small BETA, strong skew",
    "shards:K": "K labels per client",
    "quantity:BETA": "IID labels, unequal sizes",
}
TABLES = ("methods", "parts", "schedules", "models", "datasets", "partitions", "settings")


def table(title: str) -> dict[str, str]:
    """What can be named, and what it is, of one of TABLES."""
    if title == "methods":
        prefixes = {f"{prefix}*": preset for prefix, preset in PREFIXES.items()}
        return {name: preset.about for name, preset in {**BASES, **prefixes, **CENTRALIZED}.items()}
    if title == "parts":
        return {axis: f"{row.question}: {', '.join(row.parts)}" for axis, row in TABLE.items()}
    if title == "schedules":
        return {f"{name}:{kind.arguments}": kind.help for name, kind in KINDS.items()}
    if title == "settings":
        return {one.path: f"{one.help} [{one.usual}]" for one in all_settings()}
    return {"models": MODELS, "partitions": PARTITIONS}.get(title) or datasets()


def datasets() -> dict[str, str]:
    """Every dataset, and what it is."""
    from bherd.tasks.datasets.known import KNOWN

    return {
        "mnist-mini": "5 000 + 1 000 digits of MNIST, 1x28x28",
        **{known.name: known.about for known in KNOWN.values()},
        "synthetic": "2 000 + 500 generated from the seed, 1x28x28",
        "synthetic-cifar": "the same as 3x32x32, in place of CIFAR-10",
        "PATH.npz": "your x_train, y_train, x_test, y_test",
    }


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "list",
        help="list methods, parts, models, datasets, partitions and settings",
        description="Everything that can be named on the command line. * is a method from fedavg to krum.",
    )
    parser.add_argument("what", nargs="?", choices=TABLES, help="only one of the tables")
    parser.add_argument("--json", action="store_true", help="print JSON; methods in full")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    chosen = [args.what] if args.what else list(TABLES)
    if args.json:
        names: dict[str, Any] = {title: list(table(title)) for title in chosen}
        if "methods" in names:
            names["methods"] = list(PRESETS)
        if "parts" in names:
            names["parts"] = {axis: list(row.parts) for axis, row in TABLE.items()}
        sys.stdout.write(json.dumps(names) + "\n")
        return 0
    width = max(60, min(100, shutil.get_terminal_size().columns))
    if args.what == "parts":
        _print_parts(width)
        return 0
    for title in chosen:
        more = " (`bherd list parts` describes each)" if title == "parts" else ""
        sys.stdout.write(f"{title}{more}\n")
        for name, what in table(title).items():
            sys.stdout.write(_filled(what, width, f"  {name:<24}", " " * 26))
    return 0


def _print_parts(width: int) -> None:
    """Axis by axis: each part as it is written, with its defaults, and what it does."""
    for axis, row in TABLE.items():
        sys.stdout.write(f"{axis}: {row.question}\n")
        for name in row.parts:
            sys.stdout.write(f"  {complete(axis, name)}\n")
            sys.stdout.write(_filled(describe_part(axis, name), width, " " * 6, " " * 6))
        sys.stdout.write("\n")
    sys.stdout.write(_filled(_NOTE, width))


def _filled(text: str, width: int, first: str = "", others: str = "") -> str:
    """The text in lines, with names such as mean-of-last in one piece."""
    lines = textwrap.fill(text, width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)
    return f"{lines}\n"


_NOTE = (
    "A part is named by a flag (--selector herding,alpha=0.3), in a method "
    "(fedavg,selector=herding,alpha=0.3) or in [method] of a TOML file; what is left out has the default "
    "shown. A number with a point may be a schedule over the rounds (`bherd list schedules`). Your own part "
    "is package.module:factory."
)
