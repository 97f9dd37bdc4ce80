"""The model, and the data of each client."""

from functools import cache

import torch
from torch import Tensor, nn

from bherd import partition
from bherd.tasks.datasets import Dataset, load_dataset


def make_model() -> nn.Module:
    """Multinomial logistic regression on 28x28 images, from zero."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 10))
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    return model


@cache
def digits() -> Dataset:
    """Five thousand digits for training and a thousand for testing; they come with bherd."""
    return load_dataset("mnist-mini")


def samples_of(client: int, clients: int, scheme: str) -> tuple[Tensor, Tensor]:
    """One client's images and labels."""
    data = digits()
    rows = partition(data.y_train, scheme, clients=clients, seed=0)[client]
    return torch.from_numpy(data.x_train[rows]).float() / 255, torch.from_numpy(data.y_train[rows])


@torch.no_grad()
def test(model: nn.Module) -> tuple[float, float]:
    """Loss and accuracy on the test digits."""
    data = digits()
    x, y = torch.from_numpy(data.x_test).float() / 255, torch.from_numpy(data.y_test)
    outputs = model(x)
    loss = nn.functional.cross_entropy(outputs, y)
    return float(loss), float((outputs.argmax(1) == y).float().mean())
