"""What a run is, and which runs are the same run.

A `Curve` is a configuration without a seed: one line of a figure. Settings that cannot change its
result are put into one standard form, so that two figures which need the same run share it; the key
of a curve is a hash of what that form sets, in the words of the day on which the first results were
published, so that a setting which bherd learns or calls otherwise later changes no key.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from bherd.config import Config
from paper.scales import Workload, WorkloadName

Case = Literal["case1", "case2", "case3"]
CASES: tuple[Case, ...] = ("case1", "case2", "case3")
Step = Literal["equation", "amplified"]
STEPS: tuple[Step, ...] = ("equation", "amplified")
DEFAULT_ALPHA, DEFAULT_CLIENTS = 0.5, 5

_BASE: dict[str, dict[str, Any]] = {
    "method": {"name": "bherd-fedavg", "alpha": 0.5, "step": "equation", "server_lr": 1.0},
    "task": {"dataset": "mnist-mini", "model": "svm", "partition": "case2", "clients": 5},
    "train": {"rounds": 100, "epochs": 1.0, "batch_size": 100, "lr": 1e-4, "reshuffle": None},
    "run": {"eval_every": 1},
}
"""What keys are counted from: the settings and their defaults of the day of the first published results.

A curve has many seeds, on any device, and whether it keeps a ledger follows from the rest."""


@dataclass(frozen=True)
class Settings:
    """A configuration in the words of the figures. What bherd calls these settings is known to this file."""

    method: str
    alpha: float | None
    """None for a method that has none."""
    share: float
    """Alpha; for a method that has none, the default's."""
    step: Step
    """For a method that has none, the equation's."""
    server_lr: float
    dataset: str
    model: str | None
    partition: str
    clients: int
    rounds: int
    epochs: float
    batch_size: int
    lr: float
    reshuffle: bool
    seed: int
    eval_every: int
    ledger: bool

    @property
    def selector(self) -> str:
        """The selector's part of the method's name: '' for the plain ones."""
        return self.method.rpartition("-")[0]

    @property
    def server(self) -> str:
        """The server's part of the method's name: fedavg, fednova, scaffold or centralized."""
        return self.method.rpartition("-")[2]


def read_settings(config: Config) -> Settings:
    """The settings of a configuration."""
    method, task, train, run = config.method, config.task, config.train, config.run
    return Settings(
        method.name,
        method.alpha,
        DEFAULT_ALPHA if method.alpha is None else method.alpha,
        "amplified" if method.step == "amplified" else "equation",
        1.0 if method.server_lr is None else method.server_lr,
        task.dataset,
        task.model,
        task.partition,
        task.clients,
        train.rounds,
        train.epochs,
        train.batch_size,
        train.lr,
        method.order == "reshuffled",
        run.seed,
        run.eval_every,
        run.ledger,
    )


@dataclass(frozen=True)
class Curve:
    """A configuration in standard form, to be run with several seeds."""

    workload: WorkloadName
    config: Config

    @property
    def key(self) -> str:
        """Twelve hex digits that name the configuration, whatever its seed."""
        own = asdict(self.settings)
        own["name"] = own["method"]
        if not self.settings.selector:
            own["step"] = None
        tree = {
            table: {name: own[name] for name, usual in names.items() if own[name] not in (None, usual)}
            for table, names in _BASE.items()
        }
        return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:12]

    @cached_property
    def settings(self) -> Settings:
        """What the figures want to know of it."""
        return read_settings(self.config)

    def seeded(self, seed: int, dataset: str | None = None) -> Config:
        """The run of this curve with a seed, which decides partition, orders, start and draws.

        Args:
            seed: of the run.
            dataset: where its data is; left out, as the curve names it.
        """
        return self.config.replace(seed=seed, dataset=dataset or self.settings.dataset)


class Beside(NamedTuple):
    """BHerd at both steps, and its controls at the longer one."""

    equation: Curve
    amplified: Curve
    plain: Curve
    random: Curve


def make_curve(
    workload: Workload,
    case: Case,
    method: str,
    *,
    alpha: float = DEFAULT_ALPHA,
    step: Step = "equation",
    server_lr: float = 1.0,
    reshuffle: bool | None = None,
    epochs: float = 1.0,
    batch_size: int | None = None,
    clients: int = DEFAULT_CLIENTS,
    lr: float | None = None,
) -> Curve:
    """A curve in standard form; what is left out is as the paper has it."""
    prefix = method.rpartition("-")[0]
    if alpha == 1.0 and prefix != "grab":
        step = "equation"
    if method == "centralized":
        clients = 1
    batch = workload.batch_size if batch_size is None else batch_size
    shuffled = prefix == "" if reshuffle is None else reshuffle
    rate = workload.lr if lr is None else lr
    config = _config(method, alpha, step, server_lr).replace(
        order="reshuffled" if shuffled else "fixed",
        dataset=workload.dataset,
        model=workload.model,
        partition=case if clients > 1 else "case1",
        clients=clients,
        rounds=workload.rounds,
        epochs=epochs,
        batch_size=batch,
        lr=rate,
        workers=1,
        eval_every=workload.eval_every,
    )
    ledger = method == "bherd-fedavg" and at_defaults(workload, read_settings(config))
    return Curve(workload.name, config.replace(ledger=ledger))


def at_defaults(workload: Workload, settings: Settings) -> bool:
    """Whether these are the settings under which figure 4 looks into the clients of the SVM."""
    return (
        workload.model == "svm"
        and settings.alpha == DEFAULT_ALPHA
        and settings.clients == DEFAULT_CLIENTS
        and settings.epochs == 1.0
        and settings.batch_size == workload.batch_size
        and not settings.reshuffle
    )


def plain_at_same_step(workload: Workload, curve: Curve) -> Curve:
    """The control: the same server with all gradients, the step as long, the order as fixed as BHerd's."""
    own = curve.settings
    longer = own.epochs if own.step == "equation" else own.epochs / own.share
    return make_curve(
        workload,
        _case(curve),
        own.server,
        server_lr=longer,
        reshuffle=own.reshuffle,
        epochs=own.epochs,
        batch_size=own.batch_size,
        clients=own.clients,
        lr=own.lr,
    )


def with_selector(workload: Workload, curve: Curve, selector: str) -> Curve:
    """The control: the same share, step and order, but another selector's choice."""
    own = curve.settings
    return make_curve(
        workload,
        _case(curve),
        f"{selector}-{own.server}",
        alpha=own.share,
        step=own.step,
        reshuffle=own.reshuffle,
        epochs=own.epochs,
        batch_size=own.batch_size,
        clients=own.clients,
        lr=own.lr,
    )


def controlled(workload: Workload, curve: Curve) -> list[Curve]:
    """A BHerd curve with all gradients in the same order at the same step; with the amplified step a random
    share too."""
    plain = plain_at_same_step(workload, curve)
    if curve.settings.step == "equation":
        return [curve, plain]
    return [curve, plain, with_selector(workload, curve, "random")]


def beside(workload: Workload, bherd: Callable[[Step], Curve]) -> Beside:
    """BHerd at both steps with the controls of the longer one, which with α = 1 are one: all is kept."""
    equation, amplified = bherd("equation"), bherd("amplified")
    plain = plain_at_same_step(workload, amplified)
    whole = amplified.settings.alpha == 1.0
    random = plain if whole else with_selector(workload, amplified, "random")
    return Beside(equation, amplified, plain, random)


def unique(curves: list[Curve]) -> list[Curve]:
    """Each curve once, in order of first appearance."""
    return list({curve.key: curve for curve in curves}.values())


def _case(curve: Curve) -> Case:
    return next(case for case in CASES if case == curve.settings.partition)


def _config(method: str, alpha: float, step: Step, server_lr: float) -> Config:
    """Without the settings that have no effect on the method."""
    return Config().replace(alpha=alpha, step=step, server_lr=server_lr).replace(method=method)
