"""The configuration of a run: one tree of frozen dataclasses, checked on the way in.

A run is wholly described by its `Config`. It comes from defaults, a TOML file and flags, in this
order of strength, and is written in full beside the results. This module imports neither torch nor
numpy, so that the command line can answer `--help` and refuse bad input at once.
"""

import dataclasses
import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from bherd.errors import InputError
from bherd.names import METHOD_NAMES, did_you_mean
from bherd.sizes import parse_size


@dataclass(frozen=True)
class MethodConfig:
    """Which method: the [method] table."""

    name: str = "bherd-fedavg"
    """One of the catalogue, see `bherd run --help`."""
    alpha: float = 0.5
    """Share of the local gradients that bherd-, random- and reversed- keep, in (0, 1]."""
    step: Literal["equation", "amplified", "matched"] = "equation"
    """Length of the server's step: as the paper's equation has it, 1/alpha longer, or FedAvg's."""
    server_lr: float = 1.0
    """Factor on the server's step."""


@dataclass(frozen=True)
class TaskConfig:
    """What is learnt, from which data: the [task] table."""

    dataset: str = "mnist-mini"
    """A known dataset or the path of a .npz file."""
    data_dir: str | None = None
    """Folder with the dataset's files; otherwise $BHERD_DATA, then the cache."""
    model: str = "svm"
    """svm, cnn, logistic, mlp, or your own as package.module:factory."""
    partition: str = "case2"
    """case1, case2, case3, dirichlet:BETA, shards:K or quantity:BETA."""
    clients: int = 5
    """Number of clients, N."""


@dataclass(frozen=True)
class TrainConfig:
    """How long and how fast: the [train] table."""

    rounds: int = 100
    """Communication rounds, T."""
    epochs: float = 1.0
    """Local epochs a round, E; fractions are allowed."""
    batch_size: int = 100
    """Samples in a local step, B."""
    lr: float = 1e-4
    """Learning rate of the local steps, eta."""
    participation: int | float = 1.0
    """Clients that take part in a round: a number (10) or a share (0.1; 1.0 is everybody)."""
    reshuffle: bool | None = None
    """New sample order every epoch; unset: as the method's paper has it."""


@dataclass(frozen=True)
class RunConfig:
    """How it is computed and recorded: the [run] table."""

    seed: int = 0
    """Decides the partition, the orders, the start and every draw."""
    engine: Literal["simulate", "reference", "ray"] = "simulate"
    """simulate is fast; reference is plain loops; ray is simulate on Ray actors."""
    dtype: Literal["float32", "float64"] = "float32"
    device: str = "cpu"
    """cpu, cuda or cuda:0 and so on."""
    workers: int = 0
    """Clients that are trained at the same time; 0: as many as there are cores."""
    eval_every: int = 1
    """Evaluate after every k-th round, and after the last."""
    eval_train: bool = True
    """Whether an evaluation also takes the loss over all training samples."""
    checkpoint_every: int = 0
    """Write a checkpoint after every k-th round; 0: about every two seconds."""
    snapshot_every: int = 0
    """Picture the gradients of every k-th round for the report; 0: never."""
    ledger: bool = True
    """Whether the selection of every step is recorded; ledger.parquet has no rows without it."""
    store: Literal["auto", "memory", "half", "disk", "sketch"] = "auto"
    """Where local gradients wait for their selection; auto: memory, or disk beyond the limit."""
    memory: str | None = None
    """The most memory to use, such as 2GB; unset: 80% of what is free."""


@dataclass(frozen=True)
class Config:
    """Everything that decides a run."""

    method: MethodConfig = field(default_factory=MethodConfig)
    task: TaskConfig = field(default_factory=TaskConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    run: RunConfig = field(default_factory=RunConfig)

    def __post_init__(self) -> None:
        _check(self)

    def replace(self, **values: object) -> "Config":
        """A copy with some values changed, each named as on the command line: `alpha=0.3, seed=1`."""
        tree = to_dict(self)
        for name, value in values.items():
            tree[section_of(name)][name] = value
        return from_dict(tree)


SECTIONS: dict[str, type[Any]] = {
    "method": MethodConfig,
    "task": TaskConfig,
    "train": TrainConfig,
    "run": RunConfig,
}


def section_of(name: str) -> str:
    """The table that a setting belongs to; every setting's name is unique."""
    for section, kind in SECTIONS.items():
        if name in {f.name for f in dataclasses.fields(kind)}:
            return section
    names = [f.name for kind in SECTIONS.values() for f in dataclasses.fields(kind)]
    raise InputError(f"there is no setting {name!r}{did_you_mean(name, names)}")


def to_dict(config: Config) -> dict[str, dict[str, Any]]:
    """The tree as plain tables."""
    return dataclasses.asdict(config)


def from_dict(tree: Mapping[str, Any], source: str = "configuration") -> Config:
    """A checked `Config` from plain tables, such as a parsed TOML file; unknown keys are errors."""
    parts: dict[str, Any] = {}
    for section, values in tree.items():
        if section not in SECTIONS:
            raise InputError(f"{source}: unknown table [{section}]{did_you_mean(section, SECTIONS)}")
        if not isinstance(values, Mapping):
            raise InputError(f"{source}: {section!r} must be a table of settings, not {values!r}")
        parts[section] = _section(section, values, source)
    return Config(**parts)


FREE_TO_CHANGE = {
    ("run", "workers"),
    ("run", "checkpoint_every"),
    ("run", "memory"),
    ("task", "data_dir"),
}
"""Settings that change no result, so that a run may go on with other values of them."""


def first_difference(before: Config, now: Config) -> str | None:
    """The first setting that makes two configurations different runs, in words; None for the same run.

    What `now` leaves open (None) does not count.
    """
    then = to_dict(before)
    for section, values in to_dict(now).items():
        for key, value in values.items():
            old = then[section][key]
            same = old == value and type(old) is type(value)  # 1 is a client, 1.0 is everybody
            if value is not None and not same and (section, key) not in FREE_TO_CHANGE:
                return f"{section}.{key} is {value!r} here and {old!r} there"
    return None


def _section(section: str, values: Mapping[str, Any], source: str) -> object:
    kind = SECTIONS[section]
    types = typing.get_type_hints(kind)
    for key, value in values.items():
        if key not in types:
            raise InputError(f"{source}: [{section}] has no setting {key!r}{did_you_mean(key, types)}")
        if not _fits(value, types[key]):
            raise InputError(f"{source}: {section}.{key} is {value!r}, but {_wanted(types[key])} is expected")
    return kind(**{key: _widened(value, types[key]) for key, value in values.items()})


def _options(kind: Any) -> tuple[Any, ...]:
    origin = typing.get_origin(kind)
    return typing.get_args(kind) if origin is not None and origin is not Literal else (kind,)


def _fits(value: object, kind: Any) -> bool:
    for option in _options(kind):
        if typing.get_origin(option) is Literal:
            if value in typing.get_args(option):
                return True
        elif option is float:
            if isinstance(value, int | float) and not isinstance(value, bool):
                return True
        elif option is int:
            if isinstance(value, int) and not isinstance(value, bool):
                return True
        elif isinstance(value, option):
            return True
    return False


def _widened(value: Any, kind: Any) -> Any:
    return float(value) if kind is float else value


def _wanted(kind: Any) -> str:
    words = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}
    parts = []
    for option in _options(kind):
        if typing.get_origin(option) is Literal:
            parts.append("one of " + ", ".join(map(str, typing.get_args(option))))
        elif option is not type(None):
            parts.append(words[option])
    return " or ".join(parts)


def _check(config: Config) -> None:
    """Refuse values that no run can use. What depends on the data is checked where it is read."""
    method, task, train, run = config.method, config.task, config.train, config.run
    if method.name not in METHOD_NAMES:
        raise InputError(
            f"method is {method.name!r}, which is not known{did_you_mean(method.name, METHOD_NAMES)}"
        )
    _require(
        math.isfinite(method.alpha) and 0 < method.alpha <= 1,
        f"alpha is {method.alpha}, but the share of gradients to keep must lie in (0, 1]: "
        "0.5 keeps half of them, 1 keeps all",
    )
    for name, number in (
        ("server_lr", method.server_lr),
        ("lr", train.lr),
        ("epochs", train.epochs),
    ):
        _require(math.isfinite(number) and number > 0, f"{name} is {number}, but it must be positive")
    for name, count in (
        ("clients", task.clients),
        ("rounds", train.rounds),
        ("batch_size", train.batch_size),
        ("eval_every", run.eval_every),
    ):
        _require(count >= 1, f"{name} is {count}, but it must be at least 1")
    for name, count in (
        ("seed", run.seed),
        ("workers", run.workers),
        ("checkpoint_every", run.checkpoint_every),
        ("snapshot_every", run.snapshot_every),
    ):
        _require(count >= 0, f"{name} is {count}, but it must not be negative")
    _check_participation(train.participation, task.clients)
    if run.memory is not None:
        parse_size(run.memory)


def _check_participation(participation: int | float, clients: int) -> None:
    if isinstance(participation, int):
        _require(
            1 <= participation <= clients,
            f"participation is {participation} clients a round, but there are {clients}: "
            "give a number from 1 to that, or a share such as 0.1",
        )
    else:
        _require(
            math.isfinite(participation) and 0 < participation <= 1,
            f"participation is {participation}, but a share must lie in (0, 1]; "
            "for a number of clients write it without a point",
        )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise InputError(message)
