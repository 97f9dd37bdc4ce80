"""Running contestants in turns, each in a process of its own, bounded in time and cleaned up after."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.peers.contestants import Contestant
from benchmarks.peers.environments import ROOT, interpreter
from benchmarks.peers.handout import MARK
from benchmarks.peers.workloads import Workload

LOOK_EVERY = 1.0
SHORT_ROUNDS = 50
"""Runs of more rounds than this are timed by ten rounds at a time."""


class Run(NamedTuple):
    """One process's result."""

    rounds: list[float]
    """Seconds a round, the first left out."""
    whole: float
    """Seconds from the launch to the end of the last round."""
    peak_bytes: int
    accuracy: float
    load_before: float


class Measured(NamedTuple):
    """All runs of one contestant on one workload."""

    contestant: Contestant
    runs: list[Run]

    @property
    def minimum(self) -> float:
        return min(min(run.rounds) for run in self.runs)

    @property
    def median(self) -> float:
        return statistics.median(seconds for run in self.runs for seconds in run.rounds)

    @property
    def whole(self) -> float:
        return min(run.whole for run in self.runs)

    @property
    def peak_bytes(self) -> int:
        return max(run.peak_bytes for run in self.runs)

    @property
    def accuracy(self) -> float:
        return self.runs[-1].accuracy


class FailedError(RuntimeError):
    """A contestant did not come to its end."""


def measure(
    workload: Workload, contestants: Sequence[Contestant], handout: Path, repeats: int
) -> list[Measured]:
    """Let everybody run this many times, one after the other."""
    measured = [Measured(contestant, []) for contestant in contestants]
    for repeat in range(repeats):
        for contestant, runs in measured:
            run = run_once(workload, contestant, handout)
            runs.append(run)
            fastest = f"{min(run.rounds) * 1e3:8.1f} ms a round, accuracy {run.accuracy:.4f}"
            label = f"{workload.name} {repeat + 1}/{repeats} {contestant.name:20}"
            print(f"{label} {fastest}", file=sys.stderr, flush=True)
    return measured


def run_once(workload: Workload, contestant: Contestant, handout: Path) -> Run:
    """Start the contestant's process, wait for it, and read its result."""
    command = [str(interpreter(contestant.environment)), "-m", f"benchmarks.peers.{contestant.module}"]
    command += [str(handout), *contestant.arguments]
    load = os.getloadavg()[0]
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        launch = time.time()
        child = subprocess.Popen(command, cwd=ROOT, env=_environment(), stdout=output, stderr=errors)
        peak = _watch(child, launch + workload.minutes * 60)
        output.seek(0)
        errors.seek(0)
        results = [line for line in output.read().splitlines() if line.startswith(MARK)]
        if child.returncode or not results:
            tail = "\n".join(errors.read().splitlines()[-15:])
            raise FailedError(
                f"{contestant.name} on {workload.name} ended with {child.returncode} after "
                f"{time.time() - launch:.0f} of at most {workload.minutes * 60:.0f} s:\n{tail}"
            )
    answer = json.loads(results[-1].removeprefix(MARK))
    ends, rounds = answer["ends"], workload.config.train.rounds
    if len(ends) != rounds or answer["accuracy"] is None:
        raise FailedError(f"{contestant.name} on {workload.name}: {len(ends)} rounds instead of {rounds}")
    return Run(
        seconds_a_round(ends),
        ends[-1] - launch,
        max(peak, answer["peak_bytes"]),
        answer["accuracy"],
        round(load, 1),
    )


def seconds_a_round(ends: Sequence[float]) -> list[float]:
    """The seconds between ends of rounds; of many short rounds, the means of ten at a time."""
    if len(ends) <= SHORT_ROUNDS:
        return [after - before for before, after in pairwise(ends)]
    return [(after - before) / 10 for before, after in pairwise(ends[::10])]


def _environment() -> dict[str, str]:
    """Ours, with numpy's products on one core, and this repository for whoever starts processes."""
    return {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def _watch(child: subprocess.Popen[bytes], deadline: float) -> int:
    """Wait until the child ends or its time is up; peak memory of it and all that it started.

    What it started is remembered while it lives, and ended with it.
    """
    started: dict[int, psutil.Process] = {}
    peak = 0
    try:
        while child.poll() is None and time.time() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(LOOK_EVERY)
            with contextlib.suppress(psutil.NoSuchProcess):
                root = psutil.Process(child.pid)
                started.update((process.pid, process) for process in root.children(recursive=True))
                peak = max(peak, sum(_resident(process) for process in (root, *started.values())))
    finally:
        if child.poll() is None:
            child.terminate()
        _end(list(started.values()))
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(10)
        child.kill()
        child.wait()
    return peak


def _resident(process: psutil.Process) -> int:
    """Bytes in memory, those shared by several processes divided among them."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def _end(processes: list[psutil.Process]) -> None:
    """Ask those that still run to end, and kill those that do not."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, left = psutil.wait_procs(processes, timeout=10)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
