"""The command line that makes a run again."""

import shlex
from dataclasses import asdict
from typing import Any

from bherd.cli.options import FLAGS, METHOD_FLAG, SEED_FLAG
from bherd.config import Config, find_setting, to_dict

_LEFT_OUT = {"workers"}
"""What changes no result."""


def command(config: Config) -> str:
    """`bherd run` with a flag for everything that is not the default, ready for a shell."""
    usual, mine = to_dict(Config()), asdict(config)
    words = ["bherd", "run", METHOD_FLAG.option, config.method.name]
    flags = [*(flag for flags in FLAGS.values() for flag in flags), SEED_FLAG]
    known = {flag.setting for flag in flags} | {"name", "reshuffle"} | _LEFT_OUT
    for flag in flags:
        section = find_setting(flag.setting).table
        value = mine[section][flag.setting]
        always = flag.setting == "seed"
        if flag.setting not in _LEFT_OUT and (always or value != usual[section][flag.setting]):
            words += [flag.option, str(value)]
    if config.train.reshuffle is not None:
        words.append("--reshuffle" if config.train.reshuffle else "--no-reshuffle")
    for section, values in mine.items():
        for name, value in values.items():
            if name not in known and value != usual[section][name]:
                words += ["--set", f"{section}.{name}={_toml(value)}"]
    return shlex.join(words)


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
