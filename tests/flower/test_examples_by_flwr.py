"""The example apps as their readers start them: by `flwr run .`, in Flower's own simulation runtime."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.places import ROOT

pytest.importorskip("ray")
EXAMPLES = ROOT / "examples"
COMMAND = ("flwr", "run", ".", "--stream")
OFFLINE = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}


@pytest.fixture
def flower_home(tmp_path: Path) -> Iterator[Path]:
    """A home for Flower; the server that `flwr run` leaves running there is ended afterwards."""
    home = tmp_path / "flwr"
    yield home
    for process in psutil.process_iter(["cmdline"]):
        if any(str(home) in word for word in process.info["cmdline"] or []):
            for member in [*process.children(recursive=True), process]:
                member.kill()


@pytest.mark.slow
@pytest.mark.deployment
@pytest.mark.parametrize("example", ["flower-quickstart", "flower-existing-app"])
def test_an_example_runs_by_flwr_run(example: str, tmp_path: Path, flower_home: Path) -> None:
    app = shutil.copytree(EXAMPLES / example, tmp_path / "app")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*COMMAND, "--federation-config", "num-supernodes=5", "--run-config", "num-server-rounds=2"],
        cwd=app,
        env={**os.environ, **OFFLINE, "PATH": path, "FLWR_HOME": str(flower_home)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    printed = done.stdout + done.stderr
    assert done.returncode == 0, printed[-2000:]
    assert "Traceback" not in printed, printed[-2000:]
    assert "2: {'loss': '" in printed or "2: {'accuracy': '" in printed, printed[-2000:]
