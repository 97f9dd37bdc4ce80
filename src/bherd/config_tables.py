"""The tables of the configuration, each setting described and checked once, in its field."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from bherd.method_texts import SHORTHANDS, MethodTexts, explicit, read_method
from bherd.names import is_own_task
from bherd.parts.presets import base_of_preset
from bherd.parts.schedule import Schedule, is_schedule
from bherd.parts.spec import Spec, text_of
from bherd.parts.table import AXES, TABLE
from bherd.settings import (
    Check,
    Table,
    at_least_one,
    count_or_share,
    described,
    not_negative,
    positive,
    setting,
    size,
)
from bherd.tasks.schemes import parse_scheme

AS_THE_METHOD = "as the method has it"
"""The default of a part, in words."""


def _axis(axis: str, usual: str = "", check: Check | None = None) -> str | None:
    """The setting of a part."""
    about = f"{TABLE[axis].question}: {', '.join(TABLE[axis].parts)}"
    made: str | None = setting(None, about, metavar="PART", usual=usual or AS_THE_METHOD, check=check)
    return made


def _no_number(text: str) -> str | None:
    """Participation by a number is a cohort."""
    try:
        float(text)
    except ValueError:
        return None
    return f", but how clients are drawn is expected. How many is another setting: cohort = {text}"


@described
@dataclass(frozen=True)
class MethodConfig(Table):
    """Which method: the [method] table.

    A part is written NAME[,key=value]..., a user's own package.module:factory[,key=value]..., a method
    PRESET[,key=value]...; they are spelled out once they are read, so that equal methods are equal tables.
    """

    TABLE: ClassVar = "method"
    name: str = setting(
        "bherd-fedavg",
        "method, see `bherd list`; fedavg,server=adam,server.lr=0.1 refines it",
        metavar="NAME",
        flag="method",
    )
    participation: str | None = _axis("participation", check=_no_number)
    order: str | None = _axis("order", "reshuffled, or fixed for methods that select")
    optimizer: str | None = _axis("optimizer")
    correction: str | None = _axis("correction")
    selector: str | None = _axis("selector")
    transform: str | None = _axis("transform")
    aggregation: str | None = _axis("aggregation")
    server: str | None = _axis("server")
    shipped: str | None = _axis("shipped")
    step: Literal["equation", "amplified", "matched"] | None = setting(
        None,
        "length of the server's step: equation (as the paper writes it), amplified (1/alpha longer) "
        "or matched (FedAvg's)",
        metavar="LENGTH",
        usual="equation, for methods that select",
    )

    def __post_init__(self) -> None:
        """Every part is spelled out; what has no effect on the method is refused."""
        super().__post_init__()
        whole = read_method(self.name, {**{axis: getattr(self, axis) for axis in AXES}, "step": self.step})
        for name, value in (("name", whole.name), ("step", whole.step), *whole.parts.items()):
            object.__setattr__(self, name, value)

    @property
    def texts(self) -> MethodTexts:
        """The method as texts."""
        parts = {axis: text for axis in AXES if (text := getattr(self, axis)) is not None}
        return MethodTexts(self.name, parts, self.step)

    @property
    def alpha(self) -> float | None:
        """The selector's nominal share, if it has one."""
        return self._number("selector", "alpha")

    @property
    def server_lr(self) -> float | None:
        """The rate of the server's optimizer, if it has one."""
        return self._number("server", "lr")

    @property
    def base(self) -> str:
        """The method without its selector: fedavg, fednova, scaffold and so on."""
        return base_of_preset(self.name)

    @property
    def selects(self) -> bool:
        """Whether its clients leave steps out."""
        return self.step is not None

    def part_name(self, axis: str) -> str:
        """The name of the part on an axis, without its parameters."""
        return str(getattr(self, axis)).partition(",")[0]

    def _number(self, axis: str, parameter: str) -> float | None:
        text = dict(Spec.read(axis, getattr(self, axis)).params).get(parameter)
        if text is None:
            return None
        return Schedule(text) if is_schedule(text) else float(text)


def method_config(values: Mapping[str, Any]) -> MethodConfig:
    """A [method] table from its settings, the shorthands `alpha`, `mu`, `server_lr`, and AXIS.PARAMETERs.

    >>> method_config({"name": "bherd-fedavg", "alpha": 0.3}).selector
    'herding,alpha=0.3'
    """
    values = {key: value for key, value in values.items() if value is not None}
    short = {key: text_of(_float(values[key])) for key in values if _is_refinement(key)}
    rest = {key: value for key, value in values.items() if not _is_refinement(key)}
    if not short:
        return MethodConfig(**rest)
    made = MethodConfig(**rest)
    whole = read_method(made.name, {**explicit(made.texts), **short})
    chosen: dict[str, Any] = explicit(whole)
    return MethodConfig(whole.name, **chosen)


def _is_refinement(key: str) -> bool:
    return key in SHORTHANDS or "." in key


def _float(value: object) -> object:
    """A shorthand's value as the part's own reader takes it."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@described
@dataclass(frozen=True)
class TaskConfig(Table):
    """What is learnt, from which data: the [task] table."""

    TABLE: ClassVar = "task"
    dataset: str = setting("mnist-mini", "dataset, or the path of a .npz file", metavar="NAME")
    data_dir: str | None = setting(
        None,
        "folder with the dataset's files",
        metavar="DIR",
        decides=False,
        usual="$BHERD_DATA, then the cache",
    )
    model: str | None = setting(
        None,
        "svm, cnn, logistic, mlp, or your own as package.module:factory",
        metavar="NAME",
        usual="svm on MNIST; other data needs one",
    )
    partition: str = setting(
        "case2", "case1, case2, case3, dirichlet:BETA, shards:K or quantity:BETA", metavar="SCHEME"
    )
    clients: int = setting(5, "number of clients", metavar="N", check=at_least_one)

    def __post_init__(self) -> None:
        """A partition is spelled out: 'dirichlet' becomes 'dirichlet:0.5'."""
        super().__post_init__()
        if not is_own_task(self.dataset):
            object.__setattr__(self, "partition", parse_scheme(self.partition).text)


@described
@dataclass(frozen=True)
class TrainConfig(Table):
    """How long and how fast: the [train] table."""

    TABLE: ClassVar = "train"
    rounds: int = setting(100, "communication rounds", metavar="T", check=at_least_one)
    epochs: float = setting(
        1.0,
        "local epochs per round, fractions allowed",
        metavar="E",
        check=positive,
        over_rounds=True,
    )
    batch_size: int = setting(
        100, "samples in a local step", metavar="B", check=at_least_one, over_rounds=True
    )
    lr: float = setting(
        1e-4,
        "learning rate of the local steps; as E and B it may follow a schedule, cosine:0.1:0.001:50",
        metavar="ETA",
        check=positive,
        over_rounds=True,
    )
    cohort: int | float = setting(
        1.0,
        "clients per round: a number, 10, or a share, 0.1",
        metavar="SIZE",
        usual="1.0, everybody",
        check=count_or_share,
    )


@described
@dataclass(frozen=True)
class RunConfig(Table):
    """How it is computed and recorded: the [run] table."""

    TABLE: ClassVar = "run"
    seed: int = setting(
        0, "decides the partition, the orders, the start and every draw", metavar="S", check=not_negative
    )
    engine: Literal["simulate", "reference", "ray"] = setting(
        "simulate", "simulate (fast), reference (plain loops) or ray (simulate on Ray actors)", metavar="NAME"
    )
    dtype: Literal["float32", "float64"] = setting("float32", "float32 or float64", metavar="TYPE")
    device: str = setting("cpu", "cpu, cuda, cuda:0 and so on", metavar="DEVICE")
    workers: int = setting(
        0,
        "clients trained at the same time; 0: as many as there are cores; changes no result",
        metavar="W",
        decides=False,
        check=not_negative,
    )
    eval_every: int = setting(
        1, "evaluate after every K-th round, and after the last", metavar="K", check=at_least_one
    )
    eval_train: bool = setting(True, "whether an evaluation also takes the loss over all training samples")
    checkpoint_every: int = setting(
        0,
        "write a checkpoint after every K-th round; 0: about every two seconds",
        metavar="K",
        decides=False,
        check=not_negative,
    )
    snapshot_every: int = setting(
        0,
        "picture the gradients of every K-th round for the report; 0: never",
        metavar="K",
        check=not_negative,
    )
    ledger: bool = setting(True, "whether the selection of every step is recorded, in ledger.parquet")
    store: Literal["auto", "memory", "half", "disk", "sketch"] = setting(
        "auto",
        "where local gradients wait for their selection: memory, half, disk or sketch; auto: memory, "
        "or disk beyond the limit",
        metavar="KIND",
    )
    memory: str | None = setting(
        None,
        "the most memory to use, such as 2GB",
        metavar="SIZE",
        decides=False,
        usual="80% of what is free",
        check=size,
    )


TABLES: dict[str, type[Table]] = {
    kind.TABLE: kind for kind in (MethodConfig, TaskConfig, TrainConfig, RunConfig)
}
