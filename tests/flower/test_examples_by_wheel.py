"""The example apps by the very commands of their pages, in a new environment with bherd from its wheel."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bherd.federation.processes import free_ports
from tests.places import ROOT

pytestmark = [pytest.mark.deployment, pytest.mark.slow, pytest.mark.network]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin folder of an environment with bherd from a wheel, and the other packages as they are here.

    The other packages are found by a path file. Python does not follow path files that lie in a folder
    named by one, so this checkout, where it is installed in place, stays out of sight.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([*build, str(ROOT)], check=True, timeout=300)
    (wheel,) = folder.glob("bherd-*.whl")
    venv.create(folder / "env", symlinks=True)
    programs = folder / "env" / "bin"
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = [sys.executable, "-m", "pip", "--python", str(programs / "python"), "install", "--no-deps"]
    subprocess.run([*install, "--quiet", "--no-index", str(wheel)], check=True, timeout=120)
    for program in Path(sysconfig.get_path("scripts")).iterdir():
        if program.name == "uv":
            (programs / "uv").symlink_to(program)
        elif program.name.startswith(("flwr", "flower-")):
            _, _, rest = program.read_text().partition("\n")
            copy = programs / program.name
            copy.write_text(f"#!{programs / 'python'}\n{rest}")
            copy.chmod(0o755)
    found = subprocess.run(
        [programs / "python", "-c", "import bherd; print(bherd.__file__)"],
        env=clean({}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(found.stdout.strip()).is_relative_to(site)
    return programs


def clean(changes: dict[str, str]) -> dict[str, str]:
    """This environment without what would change where Python or Flower look."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "FLWR_", "UV_"))}
    return {**kept, **changes}


@pytest.fixture
def environment(programs: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """What a user has, with a folder and a port of Flower's own; the SuperLink that stays is ended."""
    home = tmp_path / "flower"
    changes = {
        "PATH": f"{programs}:/usr/bin:/bin",
        "FLWR_HOME": str(home),
        "FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(free_ports(1)[0]),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # without a cluster Ray keeps to the loopback interface
    }
    yield clean(changes)
    for process in left_behind(home):
        process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 20
    while (left := left_behind(home)) and time.monotonic() < deadline:
        time.sleep(0.2)
    for process in left:
        process.kill()


def left_behind(home: Path) -> list[psutil.Process]:
    """The processes whose Flower folder this is."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("FLWR_HOME") == str(home) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (psutil.AccessDenied, psutil.NoSuchProcess):
            continue
    return found


def commands(page: str, program: str) -> list[list[str]]:
    return [shlex.split(line) for line in re.findall(rf"^\$ ({program} .*)$", page, re.MULTILINE)]


@pytest.mark.parametrize(
    ("name", "result", "good"),
    [
        ("flower-quickstart", r"round 10: .*accuracy ([\d.]+)%", lambda accuracy: accuracy > 60),
        ("flower-existing-app", r"round 10: test loss ([\d.]+)", lambda loss: loss < 0.5),
    ],
    ids=["quickstart", "existing-app"],
)
def test_the_command_of_the_page_gives_a_trained_model(
    name: str, result: str, good: Callable[[float], bool], environment: dict[str, str], tmp_path: Path
) -> None:
    folder = shutil.copytree(ROOT / "examples" / name, tmp_path / name)
    page = (folder / "README.md").read_text()
    ((program, *arguments),) = commands(page, "flwr run")
    command = [shutil.which(program, path=environment["PATH"]) or program, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    printed = done.stdout + done.stderr
    values = [float(value) for value in re.findall(result, printed)]
    assert len(values) == 1, printed[-4000:]
    assert good(values[0])
    ((_, *flags, pattern),) = commands(page, "pkill")
    assert flags == ["-f"]
    stopped = [p for p in left_behind(tmp_path / "flower") if re.search(pattern, " ".join(p.cmdline()))]
    assert len(stopped) == 1, "the page's way to stop the SuperLink finds it"
