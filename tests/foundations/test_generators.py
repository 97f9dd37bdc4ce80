"""Models that draw from torch's, numpy's or Python's generator: runs repeat and resume all the same."""

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

import bherd
import bherd.engines.simulate
from bherd import Config, memory, methods
from bherd.engines.evaluation import AT_ONCE
from bherd.engines.trial import Trial, try_out
from bherd.errors import InputError
from bherd.generators import Repeatable, Watch, preserved, seeded
from bherd.orders.reshuffled import Reshuffled
from bherd.runs import directory as names
from bherd.runs.life import resume, run
from bherd.tasks.flat import ravel
from bherd.tasks.models import build_model
from bherd.tasks.task import Task
from tests import user_models
from tests.tiny import CLASSES, IMAGE, federate, tiny_config, tiny_dataset, tiny_task

DRAW: dict[str, Callable[[], float]] = {
    "torch": lambda: float(torch.rand(())),
    "numpy": np.random.random,
    "numpy's second normal": lambda: float(np.random.randn()),
    "python": random.random,
    "python's second normal": lambda: random.gauss(0, 1),
}
NOISY = ["numpy_noise", "python_noise", "torch_noise", "sometimes_numpy_noise", "NoisyBackward"]
NOISY_IN_EVALUATION = ["always_numpy_noise", "always_torch_noise"]
every_noise = pytest.mark.parametrize("name", NOISY + NOISY_IN_EVALUATION)


def disturb(seed: int) -> None:
    """Leave the generators as another program would."""
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)
    for draw in DRAW.values():
        draw()


@pytest.fixture(autouse=True)
def small_clients_are_worth_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bherd.engines.simulate, "_WORTH_A_THREAD", 0)


# --- the generators themselves ---------------------------------------------------------------


@pytest.mark.parametrize("kind", DRAW)
def test_seeds_decide_and_the_caller_gets_back_what_was_his(kind: str) -> None:
    draw = DRAW[kind]
    drawn: list[list[float]] = []
    for key in ((0, "model", 1, 2), (0, "model", 1, 2), (1, "model", 1, 2), (0, "model", 2, 1)):
        disturb(len(drawn))
        watch = Watch()
        with seeded(*key):
            drawn.append([draw(), draw(), draw()])
        assert not watch.drew()
    assert drawn[0] == drawn[1]
    assert len({tuple(values) for values in drawn}) == 3


@pytest.mark.parametrize("kind", DRAW)
def test_a_draw_is_seen_and_undone(kind: str) -> None:
    disturb(3)
    watch = Watch()
    assert not watch.drew()
    first = DRAW[kind]()
    assert watch.drew()
    watch.put_back()
    assert not watch.drew()
    assert DRAW[kind]() == first


def test_generators_come_back_after_an_error() -> None:
    disturb(4)
    watch = Watch()

    def fail() -> None:
        with preserved():
            disturb(5)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert not watch.drew()


@pytest.mark.parametrize("fails", [False, True])
def test_work_that_draws_unexpectedly_is_done_again(fails: bool) -> None:
    repeatable = Repeatable(draws=False)
    calls: list[bool] = []

    def work() -> float:
        calls.append(repeatable.draws)
        value = random.random()
        if fails and len(calls) == 1:
            raise ZeroDivisionError
        return value

    random.seed(1)
    expected = random.Random(1).random()
    assert repeatable.do(work) == expected
    assert calls == [False, True]
    assert Repeatable(draws=False).do(lambda: 7) == 7
    with pytest.raises(KeyError):
        Repeatable(draws=False).do(lambda: DRAW["missing"])


# --- the trial -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain", Trial(False, False)),
        ("batch_norm", Trial(False, False)),
        ("dropout", Trial(True, False)),
        ("numpy_noise", Trial(True, False)),
        ("python_noise", Trial(True, False)),
        ("torch_noise", Trial(True, False)),
        ("NoisyBackward", Trial(True, False)),
        ("always_numpy_noise", Trial(True, True)),
        ("always_torch_noise", Trial(True, True)),
        ("counting_in_a_buffer", Trial(False, False)),
    ],
)
def test_the_trial_sees_who_draws_and_draws_nothing_itself(name: str, expected: Trial) -> None:
    task = tiny_task(f"tests.user_models:{name}")
    watch = Watch()
    assert try_out(task, 10) == expected
    assert not watch.drew()


@pytest.mark.parametrize("name", ["OwnGenerator", "Counting"])
@pytest.mark.parametrize("engine", ["simulate", "reference"])
def test_a_model_that_cannot_repeat_itself_is_refused(name: str, engine: str) -> None:
    with pytest.raises(InputError, match="two passes over the same samples with the same seeds"):
        federate(tiny_task(f"tests.user_models:{name}"), methods.named("fedavg"), engine=engine, rounds=1)


def test_a_model_that_counts_in_a_buffer_is_not() -> None:
    runs = [
        federate(
            tiny_task("tests.user_models:counting_in_a_buffer"),
            methods.named("fedavg"),
            engine=engine,
            workers=2,
        )
        for engine in ("simulate", "reference")
    ]
    torch.testing.assert_close(runs[0].params, runs[1].params, rtol=0, atol=1e-12)


@pytest.mark.parametrize("engine", ["simulate", "reference"])
def test_a_loss_that_broadcasts_is_refused(engine: str) -> None:
    task = tiny_task("svm")
    task = task._replace(model=task.model._replace(loss=functional.mse_loss))
    with pytest.raises(InputError, match=r"loss: Using a target size .* every output with every target"):
        federate(task, methods.named("fedavg"), engine=engine, rounds=1)


def test_a_loss_of_ones_own_is_tried_with_a_whole_batch() -> None:
    sizes: set[int] = set()

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        sizes.add(len(targets))
        return functional.cross_entropy(outputs.view(5, -1, CLASSES).mean(0), targets.view(5, -1)[0])

    task = tiny_task("mlp", (40, 20), dataset=tiny_dataset(60))
    task = task._replace(model=task.model._replace(loss=loss))
    federate(task, methods.named("fedavg"), rounds=1, batch=10)
    assert sizes == {10, 30, 60}


# --- whole runs ------------------------------------------------------------------------------


def task_of(name: str) -> Task:
    data = tiny_dataset(98, test=AT_ONCE + 30)
    return tiny_task(f"tests.user_models:{name}", dataset=data)


@every_noise
def test_a_run_repeats_whatever_was_drawn_before(name: str) -> None:
    """From the start of the model on, under both engines and any number of workers."""
    runs = []
    for seed, (engine, workers) in enumerate((("simulate", 1), ("simulate", 3), ("reference", 1))):
        disturb(seed)
        watch = Watch()
        task = task_of(name)
        method = methods.named("bherd-scaffold", alpha=0.5)
        runs.append(federate(task, method, engine=engine, workers=workers, rounds=2, order=Reshuffled()))
        assert not watch.drew()
    assert torch.equal(runs[0].params, runs[1].params)
    assert runs[0].losses == runs[1].losses
    torch.testing.assert_close(runs[0].params, runs[2].params, rtol=0, atol=1e-12)
    np.testing.assert_allclose(runs[0].losses, runs[2].losses, rtol=0, atol=1e-12)
    assert runs[0].kept == runs[2].kept
    other = federate(
        task_of(name), methods.named("bherd-scaffold", alpha=0.5), rounds=2, order=Reshuffled(), seed=9
    )
    assert not torch.allclose(other.params, runs[0].params, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["numpy_noise", "python_noise"])
def test_the_start_of_a_model_comes_from_the_seed_alone(name: str) -> None:
    starts: list[Tensor] = []
    for seed in (0, 0, 1):
        disturb(len(starts))
        watch = Watch()
        starts.append(ravel(build_model(f"tests.user_models:{name}", IMAGE, CLASSES, seed).module))
        assert not watch.drew()
    assert torch.equal(starts[0], starts[1])
    assert not torch.equal(starts[0], starts[2])


@pytest.mark.parametrize("name", NOISY_IN_EVALUATION)
@pytest.mark.parametrize("loss", ["by name", "own"])
def test_an_evaluation_that_draws_is_the_same_every_time(name: str, loss: str) -> None:
    task = task_of(name)
    if loss == "own":
        task = task._replace(
            model=task.model._replace(loss=lambda o, y: functional.cross_entropy(o, y, label_smoothing=0.1))
        )
    config = Config().replace(name="fedavg", rounds=2, batch_size=10, clients=3, dtype="float64")
    results = []
    changed: list[dict[str, object]] = [{}, {"eval_train": False}, {"engine": "reference"}, {"workers": 3}]
    for seed, changes in enumerate(changed):
        disturb(seed)
        results.append(bherd.simulate(config.replace(**changes), task=task))
    last = [result.metrics[-1] for result in results]
    assert last[0]["test_loss"] == last[1]["test_loss"] == last[3]["test_loss"]
    assert last[0]["train_loss"] == last[3]["train_loss"]
    assert last[0]["test_loss"] == pytest.approx(last[2]["test_loss"], rel=1e-12)
    assert last[0]["train_loss"] == pytest.approx(last[2]["train_loss"], rel=1e-12)


def test_clients_that_draw_from_numpy_are_trained_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[str] = []
    most: list[int] = []
    plain = user_models.Noisy.forward

    def forward(self: user_models.Noisy, x: Tensor) -> Tensor:
        inside.append("x")
        most.append(len(inside))
        try:
            return plain(self, x)
        finally:
            inside.pop()

    monkeypatch.setattr(user_models.Noisy, "forward", forward)
    federate(tiny_task("tests.user_models:numpy_noise"), methods.named("fedavg"), workers=3)
    assert max(most) == 1


@pytest.mark.parametrize("store", ["memory", "sketch", "disk"])
def test_a_second_pass_draws_what_the_first_drew(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sketch trains again to sum what was kept, and it is exact for so few numbers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    config = tiny_config(tmp_path, name="bherd-fedavg", model="tests.user_models:numpy_noise", rounds=2)
    expected = bherd.simulate(config.replace(store="memory", epochs=4.0)).params
    disturb(1)
    found = bherd.simulate(config.replace(store=store, epochs=4.0, snapshot_every=1)).params
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@every_noise
@pytest.mark.parametrize("engine", ["simulate", "reference"])
def test_a_resume_in_the_middle_changes_no_bit(name: str, engine: str, tmp_path: Path) -> None:
    config = tiny_config(
        tmp_path,
        name="scaffold",
        model=f"tests.user_models:{name}",
        rounds=5,
        engine=engine,
        checkpoint_every=1,
    )

    def stop(line: dict[str, object]) -> None:
        if line["round"] == 2:
            raise KeyboardInterrupt

    disturb(1)
    run(config, tmp_path / "whole")
    disturb(2)
    with pytest.raises(KeyboardInterrupt):
        run(config, tmp_path / "parts", stop)
    assert json.loads((tmp_path / "parts" / names.SUMMARY).read_text())["status"] == "interrupted"
    disturb(3)
    assert resume(tmp_path / "parts")["status"] == "complete"
    whole, parts = (load_file(tmp_path / folder / names.MODEL) for folder in ("whole", "parts"))
    assert whole.keys() == parts.keys()
    assert all(torch.equal(value, parts[key]) for key, value in whole.items())
    lines = [
        [
            {key: value for key, value in json.loads(line).items() if key != "seconds"}
            for line in (tmp_path / folder / names.METRICS).read_text().splitlines()
        ]
        for folder in ("whole", "parts")
    ]
    assert lines[0] == lines[1]
    assert len(lines[0]) == 5


def test_the_estimate_of_memory_draws_nothing() -> None:
    task = tiny_task("tests.user_models:always_numpy_noise")
    before = copy.deepcopy(task.model.module.state_dict())
    watch = Watch()
    memory.outputs_of_layers(task)
    assert not watch.drew()
    assert all(torch.equal(value, before[key]) for key, value in task.model.module.state_dict().items())
