"""What a run is, and which runs are the same run.

A `Curve` is a configuration without a seed: one line of a figure. Settings that cannot change its
result are put into one standard form, so that two figures which need the same run share it; the key
of a curve is a hash of what that form sets, so that a setting which bherd learns later changes no key.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from bherd.config import TABLES, Config, MethodConfig, RunConfig, TaskConfig, TrainConfig, differences
from bherd.method_settings import settings_of
from paper.scales import Workload, WorkloadName

Case = Literal["case1", "case2", "case3"]
CASES: tuple[Case, ...] = ("case1", "case2", "case3")
Step = Literal["equation", "amplified"]
STEPS: tuple[Step, ...] = ("equation", "amplified")
DEFAULT_ALPHA, DEFAULT_CLIENTS = 0.5, 5

_NOT_OF_A_CURVE = ("run.seed", "run.device", "run.ledger")
"""A curve has many seeds, on any device, and whether it keeps a ledger follows from the rest."""
_BASE = Config(task=TaskConfig(model="svm"))
"""What keys are counted from: the defaults of the day on which the first results were published."""


@dataclass(frozen=True)
class Curve:
    """A configuration in standard form, to be run with several seeds."""

    workload: WorkloadName
    config: Config

    @property
    def key(self) -> str:
        """Twelve hex digits that name the configuration, whatever its seed."""
        tree: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
        for path, _, value in differences(_BASE, self.config):
            if path not in _NOT_OF_A_CURVE and value is not None:
                table, _, name = path.partition(".")
                tree[table][name] = value
        return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:12]

    def seeded(self, seed: int) -> Config:
        """The run of this curve with a seed, which decides partition, orders, start and draws."""
        return replace(self.config, run=replace(self.config.run, seed=seed))


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
    prefix = selector_of(method)
    if alpha == 1.0 and prefix != "grab":
        step = "equation"
    if method == "centralized":
        clients = 1
    batch = workload.batch_size if batch_size is None else batch_size
    shuffled = prefix == "" if reshuffle is None else reshuffle
    rate = workload.lr if lr is None else lr
    config = Config(
        _method(method, alpha, step, server_lr),
        TaskConfig(
            dataset=workload.dataset,
            model=workload.model,
            partition=case if clients > 1 else "case1",
            clients=clients,
        ),
        TrainConfig(
            rounds=workload.rounds,
            epochs=epochs,
            batch_size=batch,
            lr=rate,
            reshuffle=shuffled,
        ),
        RunConfig(workers=1, eval_every=workload.eval_every, ledger=False),
    )
    ledger = method == "bherd-fedavg" and at_defaults(workload, config)
    return Curve(workload.name, replace(config, run=replace(config.run, ledger=ledger)))


def at_defaults(workload: Workload, config: Config) -> bool:
    """Whether these are the settings under which figure 4 looks into the clients of the SVM."""
    return (
        workload.model == "svm"
        and config.method.alpha == DEFAULT_ALPHA
        and config.task.clients == DEFAULT_CLIENTS
        and config.train.epochs == 1.0
        and config.train.batch_size == workload.batch_size
        and config.train.reshuffle is False
    )


def selector_of(method: str) -> str:
    """The selector's part of a method's name: '' for the plain ones."""
    return method.rpartition("-")[0]


def base_of(method: str) -> str:
    """The server's part of a method's name: fedavg, fednova, scaffold or centralized."""
    return method.rpartition("-")[2]


def plain_at_same_step(workload: Workload, curve: Curve) -> Curve:
    """The control: the same server with all gradients, the step as long, the order as fixed as BHerd's."""
    method, train = curve.config.method, curve.config.train
    longer = train.epochs if step_of(method) == "equation" else train.epochs / share_of(method)
    return make_curve(
        workload,
        _case(curve),
        base_of(method.name),
        server_lr=longer,
        reshuffle=train.reshuffle,
        epochs=train.epochs,
        batch_size=train.batch_size,
        clients=curve.config.task.clients,
        lr=train.lr,
    )


def with_selector(workload: Workload, curve: Curve, selector: str) -> Curve:
    """The control: the same share, step and order, but another selector's choice."""
    method, train = curve.config.method, curve.config.train
    return make_curve(
        workload,
        _case(curve),
        f"{selector}-{base_of(method.name)}",
        alpha=share_of(method),
        step=step_of(method),
        reshuffle=train.reshuffle,
        epochs=train.epochs,
        batch_size=train.batch_size,
        clients=curve.config.task.clients,
        lr=train.lr,
    )


def controlled(workload: Workload, curve: Curve) -> list[Curve]:
    """A BHerd curve with all gradients in the same order at the same step; with the amplified step a random
    share too."""
    plain = plain_at_same_step(workload, curve)
    if step_of(curve.config.method) == "equation":
        return [curve, plain]
    return [curve, plain, with_selector(workload, curve, "random")]


def beside(workload: Workload, bherd: Callable[[Step], Curve]) -> Beside:
    """BHerd at both steps with the controls of the longer one, which with α = 1 are one: all is kept."""
    equation, amplified = bherd("equation"), bherd("amplified")
    plain = plain_at_same_step(workload, amplified)
    whole = amplified.config.method.alpha == 1.0
    random = plain if whole else with_selector(workload, amplified, "random")
    return Beside(equation, amplified, plain, random)


def unique(curves: list[Curve]) -> list[Curve]:
    """Each curve once, in order of first appearance."""
    return list({curve.key: curve for curve in curves}.values())


def _case(curve: Curve) -> Case:
    return next(case for case in CASES if case == curve.config.task.partition)


def _method(name: str, alpha: float, step: Step, server_lr: float) -> MethodConfig:
    """Without the settings that have no effect on the method."""
    has = settings_of(name)
    return MethodConfig(name, alpha if "alpha" in has else None, step if "step" in has else None, server_lr)


def share_of(method: MethodConfig) -> float:
    """The method's alpha; for one that has none, the default's."""
    return DEFAULT_ALPHA if method.alpha is None else method.alpha


def step_of(method: MethodConfig) -> Step:
    """The method's step; for one that has none, the equation's."""
    return "amplified" if method.step == "amplified" else "equation"
