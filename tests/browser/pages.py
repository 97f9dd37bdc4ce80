"""What the browser tests hand around."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass
class Opened:
    """A page, and everything that it complained of or asked for."""

    page: "Page"
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


Open = Callable[..., Opened]


@dataclass(frozen=True)
class Reported:
    """A report of real runs, and the gradients that its snapshots were taken of."""

    page: Path
    runs: Path
    traces: list[torch.Tensor]
    """Of one run: every client of the first snapshotted round, then of the next, and so on."""
