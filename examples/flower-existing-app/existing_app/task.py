"""The app's own model and data: points in a plane, a small network."""

import torch
from torch import Tensor, nn


def make_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 3))


def samples_of(client: int, count: int = 500) -> tuple[Tensor, Tensor]:
    """Three clouds of points; each client sees one of them more often than the others."""
    draw = torch.Generator().manual_seed(client)
    odds = torch.ones(3)
    odds[client % 3] = 4.0
    labels = torch.multinomial(odds, count, replacement=True, generator=draw)
    centres = torch.tensor([[0.0, 2.0], [-2.0, -1.0], [2.0, -1.0]])
    return centres[labels] + torch.randn(count, 2, generator=draw), labels
