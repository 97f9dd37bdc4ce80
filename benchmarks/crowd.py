"""Workload C: logistic regression, 1,000 clients of which 10 take part, and the same with 100,000."""

import ctypes
import json
import subprocess
import sys
from itertools import cycle

import numpy as np
import psutil

from benchmarks.loops.numpy_loop import NumpyLoop
from benchmarks.loops.torch_loops import PlainLoop, TightLoop
from benchmarks.ours import simulated
from benchmarks.race import Contestant, race, repeated
from benchmarks.tables import Table, Target, timing_table
from bherd import simulate
from bherd.config import Config
from bherd.engines import linear_compiled
from bherd.session import prepare
from bherd.tasks.datasets import Dataset
from bherd.tasks.task import build_task

NUMPY = "tight numpy loop"
EVALUATED = ", evaluated"
NOTE = (
    "All of MNIST, 60 samples a client, B = 10, learning rate 0.03, evaluated at the end only, or where it "
    "says so after every round on 10,000 test samples, which is then part of the time. "
    "Minima and medians over {turns} turns in one interleaved run."
)
CROWD_NOTE = (
    "10 clients a round, 10 samples of 32 numbers each: the same work whatever the number of clients. "
    "Memory: what the process grows by when the clients are dealt their samples, less the samples "
    "themselves and what the allocator holds back for later, and what 300 rounds add to it. Minima of "
    "{turns} processes each, in turns."
)
SAMPLES, FEATURES = 10, 32


def base(rounds: int = 100) -> Config:
    """The settings of workload C."""
    return Config().replace(
        name="fedavg",
        dataset="mnist",
        model="logistic",
        partition="case1",
        clients=1000,
        cohort=10,
        batch_size=10,
        lr=0.03,
        order="fixed",
        rounds=rounds,
        eval_train=False,
        eval_every=rounds,
        workers=1,
    )


def run(turns: int = 7) -> list[Table]:
    """Both tables."""
    config = base()
    task = prepare(config).task
    draw = np.random.default_rng(1)
    cohorts = cycle([draw.choice(1000, 10, replace=False).tolist() for _ in range(100)])
    makers = {NUMPY: NumpyLoop, "tight PyTorch loop": TightLoop, "plain PyTorch loop": PlainLoop}
    loops = {
        name: make(task, 10, 0.03, lambda: next(cohorts), evaluate=False) for name, make in makers.items()
    }
    loops[NUMPY + EVALUATED] = NumpyLoop(task, 10, 0.03, lambda: next(cohorts), evaluate=True)
    contestants = [Contestant(name, repeated(loop.round, 20)) for name, loop in loops.items()]
    targets = []
    for suffix, every in (("", config.run.eval_every), (EVALUATED, 1)):
        for label, workers in (("one core", 1), ("two cores", 2)):
            name = f"fedavg, {label}{suffix}"
            contestants.append(simulated(name, config.replace(eval_every=every, workers=workers), task))
            targets.append(Target(name, NUMPY + suffix, 1.2))
    contestants.append(simulated("bherd-fedavg, one core", config.replace(name="bherd-fedavg"), task))
    title = "C: logistic regression, 1,000 clients, 10 a round, B = 10"
    first = timing_table(title, NOTE.format(turns=turns), race(contestants, turns), NUMPY, targets)
    return [first, _crowds()]


def _crowds(turns: int = 5) -> Table:
    results: dict[str, list[dict[str, float]]] = {}
    for _ in range(turns):
        for method in ("fedavg", "scaffold"):
            for clients in (1_000, 100_000):
                command = [sys.executable, "-m", "benchmarks.crowd", str(clients), method]
                answer = subprocess.run(command, capture_output=True, text=True, check=True)
                results.setdefault(f"{method}, {clients:,} clients", []).append(json.loads(answer.stdout))
    columns = ("what", "minimum, ms a round", "memory for clients, MB", "memory of 300 rounds, MB")
    rows = [
        (name, *(f"{min(one[key] for one in all_):.2f}" for key in ("milliseconds", "clients", "rounds")))
        for name, all_ in results.items()
    ]
    title = "C: 100,000 clients against 1,000"
    return Table(title, CROWD_NOTE.format(turns=turns), columns, [*rows])


def measure_crowd(clients: int, method: str) -> dict[str, float]:
    """In a process of its own: time of a round, and memory."""
    linear_compiled.COMPILED_FROM = 0  # the same path for both, so that only the clients differ
    process = psutil.Process()
    draw = np.random.default_rng(0)
    count = 100_000 * SAMPLES
    x = draw.random((count, FEATURES), dtype=np.float32)
    y = draw.integers(0, 10, count)
    held = clients * SAMPLES
    data = Dataset("crowd", x[:held], y[:held], x[:100], y[:100], 10)
    config = base(300).replace(name=method, clients=clients)
    simulate(
        config.replace(rounds=1, clients=10), task=build_task(_few(data), "logistic", "case1", 10, seed=0)
    )
    before = _held_memory(process)
    task = build_task(data, "logistic", "case1", clients, seed=0)
    samples = sum(t.nbytes for t in (task.x_train, task.y_train, task.visits))
    built = _held_memory(process)
    seconds = min(simulated("crowd", config, task).burst())
    after = _held_memory(process)
    megabyte = 2**20
    return {
        "milliseconds": seconds * 1e3,
        "clients": (built - before - samples) / megabyte,
        "rounds": (after - built) / megabyte,
    }


def _held_memory(process: psutil.Process) -> int:
    """The process's memory, once what is free inside it has been given back."""
    ctypes.CDLL(None).malloc_trim(0)
    return int(process.memory_info().rss)


def _few(data: Dataset) -> Dataset:
    return Dataset(data.name, data.x_train[:100], data.y_train[:100], data.x_test, data.y_test, data.classes)


if __name__ == "__main__":
    print(json.dumps(measure_crowd(int(sys.argv[1]), sys.argv[2])))
