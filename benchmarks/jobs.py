"""How much faster `bherd compare` and `python -m paper` are with two jobs on two cores than with one."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.race import Contestant, race, repeated
from benchmarks.tables import Table, Target, timing_table

NOTE = (
    "Whole commands, from their start to their last file: `bherd compare` of four methods with three "
    "seeds, 500 rounds each, and `python -m paper 4e --scale paper --seeds 1 --problems svm-mnist`, on the "
    "SVM and all of MNIST; every run on one core. Minima and medians over {turns} turns, interleaved. Twice "
    "0.85 times faster is a ratio of 0.59. Starting processes and drawing at the end take some seconds "
    "whatever the number of jobs, so that much shorter commands gain less."
)
COMPARE = (
    "bherd",
    "compare",
    "fedavg",
    "bherd-fedavg",
    "grab-fedavg",
    "random-fedavg",
    "--dataset",
    "mnist",
    "--rounds",
    "500",
)
REPRODUCE = ("paper", "4e", "--scale", "paper", "--seeds", "1", "--problems", "svm-mnist")


def run(turns: int = 3) -> list[Table]:
    """Time the commands."""
    contestants = [
        Contestant(f"{name}, {jobs} {'job' if jobs == 1 else 'jobs'}", repeated(make(jobs), 1, warm=0))
        for name, make in (("compare", _compare), ("reproduce", _reproduce))
        for jobs in (1, 2)
    ]
    targets = [Target(f"{name}, 2 jobs", f"{name}, 1 job", 0.59) for name in ("compare", "reproduce")]
    timings = race(contestants, turns)
    return [timing_table("Jobs", NOTE.format(turns=turns), timings, "compare, 1 job", targets)]


def _compare(jobs: int) -> Callable[[], None]:
    return _command(lambda folder: (*COMPARE, "--workers", "1", "--jobs", str(jobs), "--out", f"{folder}/c"))


def _reproduce(jobs: int) -> Callable[[], None]:
    def arguments(folder: Path) -> tuple[str, ...]:
        places = ("--work", f"{folder}/w", "--out", f"{folder}/o", "--page", f"{folder}/page.md")
        return (*REPRODUCE, "--jobs", str(jobs), *places)

    return _command(arguments)


def _command(arguments: Callable[[Path], tuple[str, ...]]) -> Callable[[], None]:
    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", *arguments(Path(folder))]
            subprocess.run(command, check=True, capture_output=True)

    return work
