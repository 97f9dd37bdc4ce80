"""A run that is killed, at any moment and as often as you like, ends as if nothing had happened."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")
DRIVER = Path(__file__).with_name("kill_driver.py")
SCENARIOS = ("scaffold", "grab", "nova", "module")
OPERATIONS = ("each", "power", "full")


def drive(mode: str, scenario: str, folder: Path, number: int) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, str(DRIVER), mode, scenario, str(folder), str(number)],
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
    ("mode", "scenario", "stride"), [("each", "scaffold", 2), ("power", "nova", 3), ("full", "module", 5)]
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
