"""The configuration of a run: one tree of frozen dataclasses, checked on the way in.

A run is wholly described by its `Config`. It comes from defaults, a TOML file and flags, in this
order of strength, and is written in full beside the results. Each setting is described once, in its
field: help, flags, checks and comparison follow from it. This module imports neither torch nor numpy,
so that the command line can answer `--help` and refuse bad input at once.
"""

import dataclasses
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bherd.config_tables import TABLES, MethodConfig, RunConfig, TaskConfig, TrainConfig, method_config
from bherd.errors import InputError
from bherd.method_texts import SHORTHANDS, carried, explicit
from bherd.names import did_you_mean
from bherd.parts.schedule import written
from bherd.settings import Setting, describe_settings

__all__ = [
    "TABLES",
    "Config",
    "MethodConfig",
    "OtherSetting",
    "RunConfig",
    "TaskConfig",
    "TrainConfig",
    "all_settings",
    "deciding",
    "difference",
    "differences",
    "find_setting",
    "from_dict",
    "identity",
    "to_dict",
]


@dataclass(frozen=True)
class Config:
    """Everything that decides a run, in four tables.

    `Config().replace(method="fedavg", lr=0.01)` changes settings by the names of their flags.
    """

    method: MethodConfig = field(default_factory=MethodConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def __post_init__(self) -> None:
        for name, kind in TABLES.items():
            table = getattr(self, name)
            if not isinstance(table, kind):
                raise InputError(
                    f"{name} is {table!r}, but a {kind.__name__} is expected; "
                    "Config().replace(...) takes single settings"
                )
        cohort, clients = self.train.cohort, self.task.clients
        if isinstance(cohort, int) and cohort > clients:
            raise InputError(
                f"cohort is {cohort} clients per round, but there are {clients}: "
                "give a number from 1 to that, or a share such as 0.1; "
                "with a Task of your own, set clients to the number that it has"
            )

    def replace(self, **values: object) -> "Config":
        """A copy with some values changed, each named as its flag: `method="fedavg", batch_size=10`.

        Another method takes over the settings that it has, and leaves the others behind.
        """
        changes: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            table, key = ("method", name) if name in SHORTHANDS else find_setting(name)[:2]
            changes.setdefault(table, {})[key] = value
        method = changes.pop("method", {})
        tables = {name: dataclasses.replace(getattr(self, name), **new) for name, new in changes.items()}
        if method:
            tables["method"] = self._method(method)
        return dataclasses.replace(self, **tables)

    def _method(self, changes: dict[str, Any]) -> MethodConfig:
        texts = self.method.texts
        if isinstance(changes.get("name"), str):
            others = {key: value for key, value in changes.items() if key != "name"}
            return method_config({**carried(texts, changes["name"], others), **changes})
        return method_config({"name": texts.name, **explicit(texts), **changes})


Config.__doc__ = "\n\n".join([inspect.getdoc(Config) or "", *map(describe_settings, TABLES.values())])


def all_settings() -> list[Setting]:
    """Every setting, table by table."""
    return [one for table in TABLES.values() for one in table.SETTINGS]


def find_setting(name: str) -> Setting:
    """The setting of this name, the field's or the flag's; every name is unique."""
    known = {word: one for one in all_settings() for word in (one.name, one.word)}
    if name not in known:
        raise InputError(f"there is no setting {name!r}{did_you_mean(name, [*known, *SHORTHANDS])}")
    return known[name]


def to_dict(config: Config) -> dict[str, dict[str, Any]]:
    """The tree as plain tables; a schedule is its text."""
    return {
        name: {key: written(value) for key, value in values.items()}
        for name, values in dataclasses.asdict(config).items()
    }


def from_dict(tree: Mapping[str, Any], source: str = "") -> Config:
    """A checked `Config` from plain tables, such as a parsed TOML file; unknown keys are errors.

    Settings that the tables leave out have their defaults. `source`, such as the name of the file,
    stands before every message.
    """
    try:
        return Config(**{name: _table(name, values) for name, values in tree.items()})
    except InputError as error:
        raise InputError(f"{source}: {error}" if source else str(error)) from error


def _table(name: str, values: object) -> Any:
    if name == "method" and isinstance(values, Mapping):
        _check_keys(name, values, [*(one.name for one in MethodConfig.SETTINGS), *SHORTHANDS])
        return method_config(values)
    if name not in TABLES:
        raise InputError(f"unknown table [{name}]{did_you_mean(name, TABLES)}")
    if not isinstance(values, Mapping):
        raise InputError(f"{name!r} must be a table of settings, not {values!r}")
    _check_keys(name, values, [one.name for one in TABLES[name].SETTINGS])
    return TABLES[name](**values)


def _check_keys(table: str, values: Mapping[str, Any], known: list[str]) -> None:
    for key in values:
        if key not in known:
            raise InputError(f"[{table}] has no setting {key!r}{did_you_mean(str(key), known)}")


class OtherSetting(NamedTuple):
    """A setting in which two configurations differ."""

    path: str
    """As in config.toml: 'train.lr'."""
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.path} is {self.now!r} here and {self.before!r} there"


def differences(before: Config, now: Config) -> list[OtherSetting]:
    """All settings that make two configurations different runs; what decides no result is left out."""
    old, new = deciding(before), deciding(now)
    return [
        OtherSetting(f"{table}.{name}", old[table][name], value)
        for table, values in new.items()
        for name, value in values.items()
        if old[table][name] != value or type(old[table][name]) is not type(value)  # 1 client, 1.0: all
    ]


def difference(before: Config, now: Config) -> OtherSetting | None:
    """The first setting that makes two configurations different runs; None: they are the same run."""
    return next(iter(differences(before, now)), None)


def deciding(config: Config) -> dict[str, dict[str, Any]]:
    """The tree of the settings that decide results: the one answer to what makes two runs the same."""
    return {
        name: {
            one.name: written(getattr(getattr(config, name), one.name))
            for one in table.SETTINGS
            if one.decides
        }
        for name, table in TABLES.items()
    }


def identity(config: Config) -> str:
    """What decides a run as one line of JSON, equal for two configurations if they are the same run."""
    return json.dumps(deciding(config), sort_keys=True)
