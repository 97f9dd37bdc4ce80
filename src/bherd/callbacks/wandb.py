"""Weights & Biases, offline unless you say otherwise: `wandb sync DIR` uploads when you want to."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bherd.callbacks.callback import Callback, MetricsLine, Summary
from bherd.callbacks.extras import need
from bherd.callbacks.values import values
from bherd.config import Config, to_dict
from bherd.labels import method_label

if TYPE_CHECKING:
    from wandb import Run

PROJECT = "bherd"


def wandb(
    project: str = PROJECT, mode: Literal["offline", "online"] = "offline", folder: Path | None = None
) -> Callback:
    """Log to Weights & Biases; the files go into `folder`, or into wandb/ in the run directory."""
    need("wandb", "wandb")
    opened: list[Run] = []

    def start(config: Config, directory: Path) -> None:
        import wandb as package

        opened.append(
            package.init(
                project=project,
                name=f"{method_label(config)} seed={config.run.seed}",
                config=to_dict(config),
                dir=str(folder or directory),
                mode=mode,
                settings=package.Settings(silent=True, console="off"),
            )
        )

    def round(line: MetricsLine) -> None:
        opened[0].log(dict(values(line)), step=line["round"])

    def end(summary: Summary | None) -> None:
        if summary is not None:
            opened[0].summary["status"] = summary["status"]
        opened[0].finish(exit_code=0 if summary else 1)

    return Callback(round, start, end)
