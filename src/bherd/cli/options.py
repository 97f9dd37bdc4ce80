"""The flags that set a configuration, in one visible table, and how they become a `Config`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bherd.config import Config, find_setting, from_dict
from bherd.errors import InputError
from bherd.tasks.default_model import with_model


class Flag(NamedTuple):
    """A flag of the command line and the setting that it gives."""

    setting: str
    kind: Callable[[str], Any]
    metavar: str
    help: str
    name: str = ""

    @property
    def option(self) -> str:
        return "--" + (self.name or self.setting.replace("_", "-"))


def participation(text: str) -> int | float:
    """'10' is a number of clients, '0.1' a share."""
    return int(text) if text.strip().lstrip("+-").isdigit() else float(text)


METHOD_FLAG = Flag("name", str, "NAME", "method, see `bherd list` (default: bherd-fedavg)", "method")
FLAGS: dict[str, tuple[Flag, ...]] = {
    "method": (
        Flag("alpha", float, "SHARE", "share of local gradients that bherd- and random- keep (0.5)"),
        Flag("step", str, "LENGTH", "server step: equation, amplified (1/alpha longer), matched (FedAvg's)"),
        Flag("server_lr", float, "RATE", "factor on the server's step (1)"),
    ),
    "task": (
        Flag("dataset", str, "NAME", "dataset, or the path of a .npz file (mnist-mini)"),
        Flag("data_dir", str, "DIR", "folder with the dataset's files (else $BHERD_DATA, then the cache)"),
        Flag("model", str, "NAME", "svm, cnn, logistic, mlp or your package.module:factory (svm on MNIST)"),
        Flag("partition", str, "SCHEME", "case1-3, dirichlet:BETA, shards:K, quantity:BETA (case2)"),
        Flag("clients", int, "N", "number of clients (5)"),
    ),
    "training": (
        Flag("participation", participation, "WHO", "clients a round: a number, 10, or a share, 0.1 (all)"),
        Flag("rounds", int, "T", "communication rounds (100)"),
        Flag("epochs", float, "E", "local epochs a round, fractions allowed (1)"),
        Flag("batch_size", int, "B", "samples in a local step (100)"),
        Flag("lr", float, "ETA", "learning rate of local steps (1e-4)"),
    ),
    "computing": (
        Flag("engine", str, "NAME", "simulate (fast), reference (plain loops) or ray (Ray actors)"),
        Flag("dtype", str, "TYPE", "float32 or float64"),
        Flag("device", str, "DEVICE", "cpu, cuda, cuda:0, ... (cpu)"),
        Flag("workers", int, "W", "clients trained at the same time; 0 = cores. Changes no result"),
        Flag("memory", str, "SIZE", "the most memory to use, e.g. 2GB (80%% of what is free)"),
        Flag("store", str, "KIND", "gradients wait in memory, half, disk or sketch; auto: memory or disk"),
        Flag("eval_every", int, "K", "evaluate after every K-th round and the last (1)"),
        Flag("checkpoint_every", int, "K", "checkpoint after every K-th round; 0 = every two seconds"),
        Flag("snapshot_every", int, "K", "keep a picture of the gradients of every K-th round; 0 = never"),
    ),
}
SEED_FLAG = Flag("seed", int, "S", "decides the partition, the orders, the start and every draw (0)")


def add_config_options(parser: argparse.ArgumentParser, *, one_run: bool) -> None:
    """Every flag of a run; `one_run` adds --method and --seed, which a comparison has many of."""
    parser.add_argument(
        "--config", metavar="FILE.toml", type=Path, help="settings from a TOML file; flags win over it"
    )
    for title, flags in FLAGS.items():
        group = parser.add_argument_group(title)
        if one_run and title == "method":
            flags = (METHOD_FLAG, *flags)
        if one_run and title == "training":
            flags = (*flags, SEED_FLAG)
        for flag in flags:
            group.add_argument(
                flag.option, dest=flag.setting, type=flag.kind, metavar=flag.metavar, help=flag.help
            )
        if title == "training":
            group.add_argument(
                "--reshuffle",
                action=argparse.BooleanOptionalAction,
                default=None,
                help="new sample order every epoch (default: as the method's paper has it)",
            )
    parser.add_argument(
        "--set",
        dest="assignments",
        metavar="TABLE.KEY=VALUE",
        action="append",
        default=[],
        help="any setting by its name in config.toml, e.g. --set run.eval_train=false",
    )


def config_from(args: argparse.Namespace) -> Config:
    """The configuration of a command: defaults, then the file, then --set, then flags."""
    tree: dict[str, dict[str, Any]] = {}
    if args.config is not None:
        tree = _read(args.config)
    for assignment in args.assignments:
        section, key, value = _assignment(assignment)
        tree.setdefault(section, {})[key] = value
    names = [flag.setting for flags in FLAGS.values() for flag in flags]
    for name in (*names, "name", "seed", "reshuffle"):
        value = getattr(args, name, None)
        if value is not None:
            tree.setdefault(find_setting(name).table, {})[name] = value
    return with_model(from_dict(tree))


def _read(path: Path) -> dict[str, dict[str, Any]]:
    from bherd.toml import parse_toml

    tree = parse_toml(path)
    tree.pop("environment", None)
    from_dict(tree, source=str(path))
    return tree


def _assignment(text: str) -> tuple[str, str, Any]:
    """'train.lr=0.1' -> ('train', 'lr', 0.1); a value that is no TOML is taken as text."""
    import tomllib

    name, equals, value = text.partition("=")
    section, dot, key = name.strip().partition(".")
    if not (equals and dot and section and key):
        raise InputError(f"--set {text!r}: expected TABLE.KEY=VALUE, such as train.lr=0.01")
    try:
        return section, key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return section, key, value.strip()
