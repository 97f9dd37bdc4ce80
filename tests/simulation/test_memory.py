"""The memory of a run: foreseen, limited, and flat over many rounds."""

from contextlib import closing
from pathlib import Path

import numpy as np
import psutil
import pytest

from bherd import Config, memory, methods, simulate
from bherd.engines import SimulateEngine
from bherd.errors import InputError
from bherd.loop.rounds import run_rounds
from bherd.loop.state import Local, RunPlan, start_state
from bherd.runs.memory import peak_bytes, start_peak
from bherd.session import prepare
from bherd.sizes import parse_size, show_size
from bherd.stores import make_store
from bherd.stores.disk import DiskStore
from bherd.stores.memory import MemoryStore
from bherd.stores.sketch import SketchStore
from tests.tiny import tiny_dataset, tiny_task

SMALL = Config().replace(rounds=1, workers=2, clients=5, batch_size=10)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2 * 10**9),
        ("2 gb", 2 * 10**9),
        ("1.5GiB", 3 * 2**29),
        ("300m", 3 * 10**8),
        ("17", 17),
        ("4KiB", 4096),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-2GB", "0", "two", "2XB", "1e9", "2GB2"])
def test_what_is_no_size_is_an_error_that_shows_it(text: str) -> None:
    with pytest.raises(InputError, match="such as 2GB") as caught:
        SMALL.replace(memory=text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(("size", "shown"), [(999, "999 bytes"), (1500, "1.5 kB"), (44_000_000, "44 MB")])
def test_sizes_are_shown(size: int, shown: str) -> None:
    assert show_size(size) == shown


def test_the_trace_is_what_the_estimate_says() -> None:
    task = tiny_task("mlp")
    width = sum(p.numel() for p in task.model.module.parameters())
    config = SMALL.replace(workers=2, batch_size=4, epochs=2.0)
    steps = 2 * max(task.size(client) for client in range(task.clients)) // 4
    for name, bytes_each in (("memory", 8 * steps * width), ("half", 2 * steps * width + 8 * width)):
        found = memory.estimate(config, task, methods.named("bherd-fedavg"), make_store(name, 0))
        assert found.traces == 2 * bytes_each
    assert memory.estimate(config, task, methods.named("fedavg"), make_store("memory", 0)).traces == 0


def test_control_variates_count_for_every_client() -> None:
    task = tiny_task("svm")
    width = task.x_train.shape[1] + 1
    plain, corrected = (
        memory.estimate(SMALL, task, method, make_store("memory", 0))
        for method in (methods.named("fedavg"), methods.named("scaffold"))
    )
    assert plain.state == 0
    assert corrected.state == 8 * width * (task.clients + 1)


def test_beyond_the_limit_auto_goes_to_disk_and_computes_the_same() -> None:
    data = tiny_dataset(60, shape=(40, 40))
    task = tiny_task("mlp", (20, 20, 20), dataset=data)
    config = SMALL.replace(clients=3, batch_size=2, rounds=1)
    inside = prepare(config, task=task)
    assert isinstance(inside.store, MemoryStore)
    needed = memory.estimate(inside.config, task, inside.method, MemoryStore())
    limit = str(needed.total - 1)
    assert isinstance(prepare(config.replace(memory=limit), task=task).store, DiskStore)
    one, two = (simulate(c, task=task).params for c in (config, config.replace(memory=limit)))
    assert bool((one == two).all())


def test_beyond_every_store_it_stops_and_says_what_to_do() -> None:
    with pytest.raises(InputError) as caught:
        prepare(SMALL.replace(memory="1MB"), task=tiny_task("mlp"))
    message = str(caught.value)
    assert "the limit is 1.0 MB" in message
    assert "--memory" in message
    assert "--workers 1" in message


def test_a_store_that_is_named_is_not_exchanged() -> None:
    task = tiny_task("mlp", (200, 200, 200), dataset=tiny_dataset(600, shape=(40, 40)))
    config = SMALL.replace(clients=3, batch_size=1, store="memory")
    needed = memory.estimate(config, task, methods.named("bherd-fedavg"), MemoryStore())
    with pytest.raises(InputError, match="--store sketch"):
        prepare(config.replace(memory=str(needed.total - 1)), task=task)


def test_a_full_disk_is_no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 0

    monkeypatch.setattr("shutil.disk_usage", lambda _folder: Usage)
    with pytest.raises(InputError):
        prepare(SMALL.replace(store="disk"), task=tiny_task("mlp"))


def test_free_memory_is_the_smaller_of_machine_and_control_group(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 5 kB\n")
    assert memory._machine(tmp_path / "meminfo") == 5 * 1024
    assert memory._machine(tmp_path / "missing") is None
    (tmp_path / "memory.current").write_text("300\n")
    for most, expected in (("1000\n", 700), ("100\n", 0), ("max\n", None)):
        (tmp_path / "memory.max").write_text(most)
        assert memory._group(tmp_path) == expected
    assert memory._group(tmp_path / "missing") is None


@pytest.mark.parametrize("model", ["mlp", "svm"])
def test_a_run_stays_within_its_estimate(model: str) -> None:
    """One run to load every library; then the growth of the next to its peak is what was foreseen."""
    data = tiny_dataset(3000, shape=(20, 20))
    task = tiny_task(model, (1000, 1000, 1000), dataset=data)
    config = SMALL.replace(clients=3, batch_size=20, rounds=2)
    simulate(config.replace(batch_size=500), task=task)
    needed = memory.estimate(config, task, methods.named("bherd-fedavg"), MemoryStore())
    start_peak()
    before = psutil.Process().memory_info().rss
    simulate(config, task=task)
    peak = peak_bytes()
    assert peak is not None
    assert peak - before <= needed.total


@pytest.mark.parametrize("store", ["memory", "half", "disk", "sketch"])
def test_memory_is_flat_over_a_thousand_rounds(store: str) -> None:
    """Measured after each hundred rounds; from the third hundred on nothing may be added."""
    task = tiny_task("logistic")
    kept = SketchStore(0, width=8) if store == "sketch" else make_store(store, 0)
    method, rounds = methods.named("bherd-scaffold", alpha=0.5), 1000
    plan = RunPlan(rounds, 1.0, 1.0, 0.01, 0, eval_every=50)
    process, sizes = psutil.Process(), []
    local = Local(20, 1.0, 0.01, 0)
    with closing(SimulateEngine(task, method, local, 1, kept)) as engine:
        for state, _ in run_rounds(engine, task, method, plan, start_state(task, method)):
            if state.round % 100 == 0:
                sizes.append(process.memory_info().rss)
    assert len(sizes) == 10
    assert max(sizes[3:]) - np.median(sizes[2:4]) < 4 * 2**20
