"""TensorBoard: curves in event files, to be looked at with `tensorboard --logdir runs`."""

from pathlib import Path
from typing import TYPE_CHECKING

from bherd.callbacks.callback import Callback, MetricsLine, Summary
from bherd.callbacks.extras import need
from bherd.callbacks.values import settings, values
from bherd.config import Config

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FOLDER = "tensorboard"


def tensorboard(folder: Path | None = None) -> Callback:
    """Write event files into `folder`, or into tensorboard/ in the run directory."""
    need("tensorboard", "tensorboard")
    writers: list[SummaryWriter] = []

    def start(config: Config, directory: Path) -> None:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(str(folder or directory / FOLDER))
        table = "\n".join(f"    {name} = {value!r}" for name, value in settings(config))
        writer.add_text("config", table)
        writers.append(writer)

    def round(line: MetricsLine) -> None:
        for name, value in values(line):
            writers[0].add_scalar(name, value, line["round"])

    def end(summary: Summary | None) -> None:
        del summary
        writers[0].close()

    return Callback(round, start, end)
