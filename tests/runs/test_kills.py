"""A run that is killed, at any moment and as often as you like, ends as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.places import python_path
from tests.small_runs import contents

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
DRIVER = "tests.runs.kill_driver"
SCENARIOS = ("scaffold", "grab", "nova", "module")
OPERATIONS = ("each", "power", "full")


def drive(mode: str, scenario: str, folder: Path, number: int) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", DRIVER, mode, scenario, str(folder), str(number)],
        env={**os.environ, "PYTHONPATH": python_path()},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, int] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_sigkill_at_random_moments(scenario: str, tmp_path: Path) -> None:
    assert drive("random", scenario, tmp_path, number=SCENARIOS.index(scenario))["kills"] >= 8


@pytest.mark.parametrize(
    ("mode", "scenario", "stride"), [("each", "scaffold", 3), ("power", "nova", 4), ("full", "module", 6)]
)
def test_the_end_of_a_process_at_every_few_operations(
    mode: str, scenario: str, stride: int, tmp_path: Path
) -> None:
    assert drive(mode, scenario, tmp_path, stride)["kills"] >= 15


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("mode", OPERATIONS)
def test_the_end_of_a_process_at_every_operation(mode: str, scenario: str, tmp_path: Path) -> None:
    done = drive(mode, scenario, tmp_path, 1)
    assert done["kills"] >= done["operations"] - 1 >= 80


@pytest.mark.slow
def test_the_commands_themselves_are_killed(tmp_path: Path) -> None:
    """`bherd run` and `bherd resume` as processes of their own, with two workers, at random moments."""
    method = ["--method", "bherd-scaffold", "--cohort", "3"]
    settings = [*method, "--rounds", "400", "--lr", "0.01", "--workers", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def bherd(*words: str) -> "subprocess.Popen[bytes]":
        command = [str(Path(sys.executable).with_name("bherd")), *words, "--quiet"]
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE)

    begin = time.perf_counter()
    with bherd("run", *settings, "--out", str(tmp_path / "whole")) as undisturbed:
        assert undisturbed.wait() == 0, undisturbed.stderr
    usual = time.perf_counter() - begin
    draw, kills, directory = random.Random(11), 0, tmp_path / "killed"
    while not (directory / "summary.json").exists():
        started = (directory / "config.toml").exists()
        words = ("resume", str(directory)) if started else ("run", *settings, "--out", str(directory))
        with bherd(*words) as process:
            time.sleep(draw.uniform(0.3, 1.0) * usual if kills < 20 else 10 * usual)
            process.send_signal(signal.SIGKILL)
            status = process.wait()
            assert status in (0, -signal.SIGKILL), process.stderr.read() if process.stderr else status
            kills += status != 0
    assert kills > 0
    with bherd("resume", str(directory)) as last:
        assert last.wait() == 0
    assert contents(directory) == contents(tmp_path / "whole")
