"""Callbacks: your own in five lines, and trackers as optional extras."""

from collections.abc import Callable, Sequence

from bherd.callbacks.callback import Callback, following, resume_with, run_with
from bherd.callbacks.mlflow import mlflow
from bherd.callbacks.tensorboard import tensorboard
from bherd.callbacks.wandb import wandb
from bherd.errors import InputError
from bherd.names import did_you_mean

__all__ = [
    "TRACKERS",
    "Callback",
    "following",
    "mlflow",
    "resume_with",
    "run_with",
    "tensorboard",
    "trackers",
    "wandb",
]

TRACKERS: dict[str, Callable[[], Callback]] = {
    "tensorboard": tensorboard,
    "mlflow": mlflow,
    "wandb": wandb,
}


def trackers(names: Sequence[str]) -> list[Callback]:
    """The trackers of these names, as on the command line."""
    for name in names:
        if name not in TRACKERS:
            raise InputError(f"tracker is {name!r}, which is not known{did_you_mean(name, TRACKERS)}")
    return [TRACKERS[name]() for name in names]
