"""The tables of the configuration, each setting described and checked once, in its field."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bherd.method_settings import complete
from bherd.names import is_own_task
from bherd.settings import (
    Table,
    at_least_one,
    count_or_share,
    described,
    known_method,
    not_negative,
    positive,
    setting,
    share,
    size,
)
from bherd.tasks.schemes import parse_scheme


@described
@dataclass(frozen=True)
class MethodConfig(Table):
    """Which method: the [method] table."""

    TABLE: ClassVar = "method"
    name: str = setting(
        "bherd-fedavg", "method, see `bherd list`", metavar="NAME", flag="method", check=known_method
    )
    alpha: float | None = setting(
        None,
        "share of the local gradients that bherd-, random- and reversed- keep, in (0, 1]",
        metavar="SHARE",
        usual="0.5, for methods that keep a share",
        check=share,
    )
    step: Literal["equation", "amplified", "matched"] | None = setting(
        None,
        "length of the server's step: equation (as the paper writes it), amplified (1/alpha longer) "
        "or matched (FedAvg's)",
        metavar="LENGTH",
        usual="equation, for methods that select",
    )
    server_lr: float = setting(1.0, "factor on the server's step", metavar="RATE", check=positive)

    def __post_init__(self) -> None:
        """What the method has and was not given gets its default; what it does not have is refused."""
        super().__post_init__()
        has = complete(self.name, self.alpha, self.step)
        object.__setattr__(self, "alpha", has.alpha)
        object.__setattr__(self, "step", has.step)


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
    epochs: float = setting(1.0, "local epochs per round, fractions allowed", metavar="E", check=positive)
    batch_size: int = setting(100, "samples in a local step", metavar="B", check=at_least_one)
    lr: float = setting(1e-4, "learning rate of the local steps", metavar="ETA", check=positive)
    participation: int | float = setting(
        1.0,
        "clients per round: a number, 10, or a share, 0.1",
        metavar="WHO",
        usual="1.0, everybody",
        check=count_or_share,
    )
    reshuffle: bool | None = setting(
        None, "new sample order every epoch", usual="as the method's paper has it"
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
