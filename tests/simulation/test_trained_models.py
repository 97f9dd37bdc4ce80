"""A trained model, in memory or from a run directory, loads strictly and is the one that was measured."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

import bherd
from bherd import Config
from bherd.runs.directory import MODEL
from bherd.runs.life import run
from bherd.session import prepare
from bherd.tasks.flat import ravel, ravel_buffers
from bherd.tasks.models import build_model
from bherd.tasks.task import Task
from tests.tiny import CLASSES, IMAGE, tiny_task

CONFIG = Config().replace(name="fedavg", rounds=6, lr=0.05, batch_size=10, clients=3)


class Tied(nn.Module):
    """One matrix under two names, a frozen one with the channels last, and a state that is no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Conv2d(1, 2, 3).to(torch.float32)
        self.body.weight = nn.Parameter(
            self.body.weight.detach().contiguous(memory_format=torch.channels_last), requires_grad=False
        )
        self.norm = nn.BatchNorm1d(72)
        self.down = nn.Linear(72, CLASSES, bias=False)
        self.again = nn.Linear(72, CLASSES, bias=False)
        self.again.weight = self.down.weight

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.norm(self.body(x).flatten(1))
        outputs: Tensor = self.down(hidden) + 0.5 * self.again(hidden.square())
        return outputs

    def get_extra_state(self) -> dict[str, int]:
        return {"version": 3}

    def set_extra_state(self, state: dict[str, int]) -> None:
        assert state == {"version": 3}


def shifted(model: str) -> Task:
    """Inputs far from what fresh BatchNorm statistics expect."""
    task = tiny_task(model, dtype=torch.float32)
    return task._replace(x_train=5 * task.x_train + 20, x_test=5 * task.x_test + 20)


def accuracy(module: nn.Module, task: Task) -> float:
    module.eval()
    with torch.no_grad():
        return float(task.model.hits(module(task.x_test), task.y_test)) / len(task.y_test)


@pytest.mark.parametrize("engine", ["simulate", "reference"])
def test_a_loaded_model_has_the_accuracy_that_was_reported(engine: str) -> None:
    task = shifted("tests.user_models:batch_norm")
    result = bherd.simulate(CONFIG.replace(engine=engine), task=task)
    module = build_model("tests.user_models:batch_norm", IMAGE, CLASSES, seed=1).module
    fresh = ravel_buffers(module)
    module.load_state_dict(result.model, strict=True)
    assert accuracy(module, task) == result.accuracy
    after = ravel_buffers(module)
    assert fresh is not None
    assert after is not None
    assert not torch.allclose(fresh, after)
    assert torch.equal(ravel(module), result.params)


def test_the_task_stays_at_its_start() -> None:
    task = shifted("tests.user_models:batch_norm")
    before = {name: value.clone() for name, value in task.model.module.state_dict().items()}
    one, other = (bherd.simulate(CONFIG, task=task) for _ in range(2))
    assert all(torch.equal(value, before[name]) for name, value in task.model.module.state_dict().items())
    assert all(torch.equal(value, other.model[name]) for name, value in one.model.items())


def test_a_result_is_not_a_view_of_its_parameters() -> None:
    result = bherd.simulate(CONFIG, task=tiny_task("logistic", dtype=torch.float32))
    before = result.params.clone()
    result.model["weight"].zero_()
    assert torch.equal(result.params, before)


def test_tied_frozen_and_extra_state_load_strictly(tmp_path: Path) -> None:
    task = shifted("cnn")
    torch.manual_seed(0)
    task = task._replace(model=task.model._replace(module=Tied()))
    result = bherd.simulate(CONFIG, task=task)
    module = Tied()
    module.load_state_dict(result.model, strict=True)
    assert accuracy(module, task) == result.accuracy
    run(prepare(CONFIG, task=task), tmp_path / "run")
    saved = load_file(tmp_path / "run" / MODEL)
    assert saved.keys() == result.model.keys() - {"_extra_state"}
    assert all(torch.equal(value, result.model[name]) for name, value in saved.items())
