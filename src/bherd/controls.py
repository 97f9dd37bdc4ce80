"""The controls that belong beside a method that selects: FedAvg's length, its own length, a random share."""

from collections.abc import Sequence
from typing import NamedTuple

from bherd.config import Config
from bherd.methods import method_of, proportional
from bherd.parts.spec import text_of
from bherd.step_length import SAME, Step, mean_step
from bherd.step_measure import planned_step
from bherd.tasks.datasets import load_dataset
from bherd.tasks.partitions import deal


class Controls(NamedTuple):
    """The methods to be added to a comparison, and those for which a control cannot be told beforehand."""

    added: list[Config]
    unknown: list[Config]
    """Their step's length follows from the gradients (GraB, amplified), or from the server (Adam)."""


def controls(variants: Sequence[Config], seeds: Sequence[int]) -> Controls:
    """For each method that selects: matched, without selection at its length, and at random; each once.

    Args:
        variants: the methods of the comparison, on one task.
        seeds: of the comparison; they decide the sizes of the clients, and these the length of a step.
    """
    choosing = [variant for variant in variants if variant.method.selects]
    if not choosing:
        return Controls([], [])
    sizes = [_sizes(choosing[0], seed) for seed in seeds]
    wanted: list[Config] = []
    unknown: list[Config] = []
    for variant in choosing:
        matched = variant.replace(step="matched")
        wanted.append(matched)
        for one in (matched, variant):
            step = _step(one, sizes)
            plain = None if step is None else _plain(one, step.length)
            (unknown if plain is None else wanted).append(plain or one)
        if variant.method.alpha is not None:
            wanted.append(
                variant.replace(
                    selector=f"random,alpha={text_of(variant.method.alpha)}", order=variant.method.order
                )
            )
    new = {one.method: one for one in wanted if one.method not in {v.method for v in variants}}
    return Controls(list(new.values()), unknown)


def _step(config: Config, sizes: Sequence[Sequence[int]]) -> Step | None:
    method, train = config.method, config.train
    if method.alpha is None and method.step != "amplified":  # GraB makes up for what it measures
        return Step(1.0, None, (method.server_lr or 1.0) if proportional(method) else 1.0)
    made = method_of(method)
    return mean_step([planned_step(made, held, train.batch_size, train.epochs) for held in sizes])


def _plain(config: Config, length: float) -> Config | None:
    """The method without selection at this length of the step; None where no server_lr gives it."""
    method = config.method
    kept_all = config.replace(selector="everything", order=method.order, step=None)
    if method.server_lr is not None and proportional(method):
        return kept_all.replace(server_lr=_rate(length))
    return kept_all if abs(length - 1) < SAME else None


def _rate(length: float) -> float:
    return 1.0 if abs(length - 1) < SAME else float(f"{length:.4g}")


def _sizes(config: Config, seed: int) -> list[int]:
    task = config.task
    dataset = load_dataset(task.dataset, task.data_dir, seed=seed)
    bounds = deal(dataset.y_train, task.partition, clients=task.clients, seed=seed)[1]
    return [int(size) for size in bounds[1:] - bounds[:-1]]
