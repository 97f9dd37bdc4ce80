"""The flags of a configuration, made from the fields that describe it, and the way back to a `Config`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bherd.config import Config, all_settings, from_dict
from bherd.config_tables import AS_THE_METHOD
from bherd.default_model import with_model
from bherd.errors import InputError
from bherd.method_texts import SHORTHANDS
from bherd.parts.schedule import is_schedule
from bherd.settings import Setting, options_of

_TITLES = {"method": "method", "task": "task", "train": "training", "run": "computing"}
"""How help calls the tables."""
_PARTS = """\
A method is a name and a PART for each question of a round. A PART is
NAME[,key=value]..., such as herding,alpha=0.3, or your own
package.module:factory[,key=value]...; `bherd list parts` describes them. What is
not given is as the method of that name has it. A number of a part may be a
schedule over the rounds, such as linear:0.3:1.0:50.
"""


def number_or_share(text: str) -> int | float:
    """'10' is a number of clients, '0.1' a share."""
    try:
        return int(text) if text.strip().lstrip("+-").isdigit() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number, 10, nor a share, 0.1") from None


def add_config_options(parser: argparse.ArgumentParser, *, one_run: bool) -> None:
    """A flag for every setting; `one_run` adds --method and --seed, which a comparison has many of."""
    parser.add_argument(
        "--config", metavar="FILE.toml", type=Path, help="settings from a TOML file; flags win over it"
    )
    groups = {
        title: parser.add_argument_group(title, _PARTS if title == "method" else None)
        for title in _TITLES.values()
    }
    for one in all_settings():
        if one_run or one.name not in ("name", "seed"):
            _add_flag(groups["training" if one.name == "seed" else _TITLES[one.table]], one)
    for key, (axis, parameter) in SHORTHANDS.items():
        text = f"the {axis}'s {parameter}, where it has one"
        groups["method"].add_argument(f"--{key.replace('_', '-')}", dest=key, metavar="NUMBER", help=text)
    parser.add_argument(
        "--set",
        dest="assignments",
        metavar="TABLE.KEY=VALUE",
        action="append",
        default=[],
        help="any setting by its name in config.toml, e.g. --set run.eval_train=false",
    )


def _add_flag(group: "argparse._ArgumentGroup", one: Setting) -> None:
    text = one.help if one.usual == AS_THE_METHOD else f"{one.help} [{one.usual}]"
    text = text.replace("%", "%%")
    if bool in options_of(one.kind):
        switch = argparse.BooleanOptionalAction
        group.add_argument(f"--{one.option}", dest=one.name, action=switch, default=None, help=text)
    else:
        read = _over_rounds(_reader(one.kind)) if one.over_rounds else _reader(one.kind)
        group.add_argument(f"--{one.option}", dest=one.name, type=read, metavar=one.metavar, help=text)


def _reader(kind: Any) -> Callable[[str], Any]:
    options = options_of(kind)
    if int in options and float in options:
        return number_or_share
    return next((option for option in options if option in (int, float)), str)


def _over_rounds(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A number as `read` takes it, or the text of a schedule."""

    def number(text: str) -> Any:
        return text if is_schedule(text) else read(text)

    number.__name__ = getattr(read, "__name__", "number")  # what argparse calls it in its errors
    return number


def config_from(args: argparse.Namespace) -> Config:
    """The configuration of a command: defaults, then the file, then --set, then flags."""
    return with_model(from_dict(given_by(args)))


def given_by(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """What the file, --set and the flags say, without defaults.

    A method that a flag names replaces the file's whole [method] table, and so do the methods of a
    comparison if that table names one; settings without a name are for all of them.
    """
    tree: dict[str, dict[str, Any]] = {}
    if args.config is not None:
        tree = _read(args.config)
    if getattr(args, "name", None) is not None or ("methods" in args and "name" in tree.get("method", {})):
        tree.pop("method", None)
    for assignment in args.assignments:
        section, key, value = _assignment(assignment)
        tree.setdefault(section, {})[key] = value
    for one in all_settings():
        value = getattr(args, one.name, None)
        if value is not None:
            tree.setdefault(one.table, {})[one.name] = value
    for key in SHORTHANDS:
        if getattr(args, key, None) is not None:
            tree.setdefault("method", {})[key] = getattr(args, key)
    return tree


def _read(path: Path) -> dict[str, dict[str, Any]]:
    from bherd.toml import parse_toml

    tree = parse_toml(path)
    for name in ("environment", "sources"):
        tree.pop(name, None)
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
