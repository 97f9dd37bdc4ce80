"""Kills runs, again and again, and compares what they come to with a run that was never disturbed.

    python -m tests.runs.kill_driver MODE SCENARIO FOLDER SEED

It is a process of its own, with one thread, that has torch loaded and forks a child for every attempt,
so that a kill costs milliseconds. It prints one JSON object with what it has done; a difference is an
AssertionError. The modes:

    random    SIGKILL at random moments, at least eight times, until runs have come to their end
    each      for every n: the process ends at its n-th operation on the disk, writes half done
    power     the same, and what was not yet forced to the disk is lost
    full      for every n: the n-th operation on the disk is refused, the disk being full
"""

import errno
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
import pandas  # noqa: F401  pyarrow looks for it; the children find it loaded
import torch

from bherd.config import Config
from bherd.errors import InputError
from bherd.runs import directory as names
from bherd.runs import tables  # noqa: F401  the children find pyarrow loaded
from bherd.runs.life import resume, run
from tests.small_runs import contents, read_lines, small_config

torch.set_num_threads(1)

PATCHED = ("write", "fsync", "replace", "unlink", "mkdir", "ftruncate")
KILLED = 77
FAILED = 78


def scenarios(folder: Path) -> dict[str, Config]:
    """What is run: the state of SCAFFOLD, GraB, partial participation, buffers and torch's generator."""
    return {
        "scaffold": small_config(folder, "bherd-scaffold").replace(cohort=3),
        "grab": small_config(folder, "grab-fedavg").replace(model="logistic", eval_every=2),
        "nova": small_config(folder, "random-fednova").replace(
            cohort=0.5, order="reshuffled", epochs=1.5, checkpoint_every=2
        ),
        "module": small_config(folder, "bherd-fedavg").replace(
            model="tests.runs.kill_driver:normalized", order="reshuffled", snapshot_every=2
        ),
    }


def normalized(shape: tuple[int, ...], classes: int) -> torch.nn.Module:
    """A model of a user's own with buffers (BatchNorm) and draws of its own (Dropout)."""
    features = int(np.prod(shape))
    return torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(features, 12),
        torch.nn.BatchNorm1d(12),
        torch.nn.Dropout(0.3),
        torch.nn.Linear(12, classes),
    )


def in_child(work: Callable[[], object]) -> int:
    """Fork, do the work there, and return the child's id."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    except InputError as error:
        Path(os.environ["KILL_ERRORS"]).write_text(str(error))
        os._exit(FAILED)
    except BaseException:  # the child must not go on as the parent's twin
        import traceback

        traceback.print_exc()
        os._exit(1)


def wait(child: int) -> int:
    """The exit status of a child; minus the signal's number where it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def attempt(config: Config, directory: Path) -> None:
    """Begin the run, or continue it, as a user would after a crash."""
    if (directory / names.CONFIG).exists():
        resume(directory)
    else:
        run(config, directory)


def same(expected: dict[str, Any], directory: Path) -> None:
    got = contents(directory)
    for key, value in expected.items():
        assert got[key] == value, f"{directory}: {key} differs from the undisturbed run"


class Disk:
    """Counts the operations on the disk in this process, and makes the n-th the last, or a failure."""

    def __init__(self, last: int, mode: str) -> None:
        self.count, self.last, self.mode = 0, last, mode
        self.durable: dict[int, int] = {}
        close = os.close

        def forget(fd: int) -> None:
            self.durable.pop(fd, None)
            close(fd)

        os.close = forget
        for name in PATCHED:
            setattr(os, name, self.wrap(name, getattr(os, name)))

    def wrap(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **named: Any) -> Any:
            self.count += 1
            if self.count == self.last:
                if name == "write":
                    handle, content = args
                    original(handle, content[: len(content) // 2])
                if self.mode == "full":
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if self.mode == "power":
                    self.lose()
                os._exit(KILLED)
            result = original(*args, **named)
            if name in ("fsync", "ftruncate"):  # a log is cut to what a checkpoint has found durable
                self.durable[args[0]] = os.fstat(args[0]).st_size
            return result

        return operation

    def lose(self) -> None:
        """Cut every log that is open back to what fsync has made durable."""
        for entry in list(Path("/proc/self/fd").iterdir()):
            if int(entry.name) in self.durable and entry.resolve().suffix in (".arrows", ".jsonl"):
                os.truncate(entry.resolve(), self.durable[int(entry.name)])


def random_kills(config: Config, folder: Path, expected: dict[str, Any], seed: int) -> dict[str, int]:
    """Kill runs at random moments, each of them until it comes to its end."""
    draw = random.Random(seed)
    begin = time.perf_counter()
    assert wait(in_child(lambda: attempt(config, folder / "timed"))) == 0
    usual = time.perf_counter() - begin
    kills = ends = 0
    while kills < 8 or ends < 2:
        directory = folder / f"random{ends}"
        child = in_child(lambda directory=directory: attempt(config, directory))  # type: ignore[misc]
        time.sleep(draw.uniform(0.0, usual))
        os.kill(child, signal.SIGKILL)
        status = wait(child)
        assert status in (0, -signal.SIGKILL), status
        kills += status != 0
        if status == 0:
            same(expected, directory)
            ends += 1
    return {"kills": kills, "ends": ends}


def at_each_operation(
    config: Config, folder: Path, expected: dict[str, Any], mode: str, stride: int
) -> dict[str, int]:
    """For every n-th operation on the disk: end there, and take the run up again."""
    kills = last = 0
    while True:
        last += stride
        ends = ended_at(config, folder / mode / str(last), expected, mode, last)
        if ends == 0:
            return {"kills": kills, "operations": last}
        kills += ends


def ended_at(config: Config, directory: Path, expected: dict[str, Any], mode: str, last: int) -> int:
    """End a run at one operation, and take it up; returns how often it ended before its time."""

    def broken(last: int) -> int:
        def work() -> None:
            Disk(last, mode)
            attempt(config, directory)

        return wait(in_child(work))

    status = broken(last)
    if status == 0:
        return 0
    kills = 1
    if mode == "full":
        assert status == FAILED, status
        error = Path(os.environ["KILL_ERRORS"]).read_text()
        assert str(directory) in error, error
        assert os.strerror(errno.ENOSPC) in error, error
        if directory.exists():
            assert read_lines(directory), "a run without a round has left its directory behind"
            assert not list(directory.glob(".*"))
    else:
        assert status == KILLED, status
        if last % 3 == 0:  # the one who takes it up is killed as well
            status = broken(4 + last % 23)
            assert status in (0, KILLED), status
            kills += status == KILLED
    assert wait(in_child(lambda: attempt(config, directory))) == 0
    same(expected, directory)
    shutil.rmtree(directory)
    return kills


def main() -> None:
    mode, scenario, where, seed = sys.argv[1:]
    folder = Path(where)
    os.environ["KILL_ERRORS"] = str(folder / "error.txt")
    config = scenarios(folder)[scenario]
    config = config.replace(rounds=15 if mode == "random" else 3)
    assert wait(in_child(lambda: attempt(config, folder / "whole"))) == 0
    expected = contents(folder / "whole")
    if mode == "random":
        done = random_kills(config, folder, expected, int(seed))
    else:
        done = at_each_operation(config, folder, expected, mode, stride=int(seed))
    sys.stdout.write(json.dumps(done) + "\n")


if __name__ == "__main__":
    main()
