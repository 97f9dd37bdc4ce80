"""A virtual environment for each simulator, so that none decides the versions of another."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
TORCH = "torch==2.13.0"
MINUTES = 30


class Environment(NamedTuple):
    """What is installed beside torch, and which of it gives the version that is published."""

    name: str
    requirements: tuple[str, ...]
    package: str


FLOWER = Environment("flower", ("flwr[simulation]==1.41.0",), "flwr")
PFL = Environment("pfl", ("pfl[pytorch]==0.6.0",), "pfl")
FLUKE = Environment("fluke", ("fluke-fl==0.8.1",), "fluke-fl")
FEDLAB = Environment("fedlab", ("fedlab==1.3.0",), "fedlab")
OURS = Environment("ours", (), "bherd")


def folder() -> Path:
    """Where the environments are kept: $BHERD_PEERS, or .peers beside the sources."""
    return Path(os.environ.get("BHERD_PEERS", ROOT / ".peers")).absolute()


def interpreter(environment: Environment) -> Path:
    """The Python of an environment; ours is the one that this runs in."""
    if environment is OURS:
        return Path(sys.executable)
    return folder() / environment.name / "bin" / "python"


def install(environment: Environment) -> Path:
    """Make the environment unless it is there in full, and return its Python.

    torch goes first and stays pinned, because some of the simulators would replace it. A stamp with the
    requirements is written at the end: half an environment, or one of other versions, is completed.
    """
    python = interpreter(environment)
    if environment is OURS:
        return python
    home = folder() / environment.name
    stamp = home / "installed.txt"
    wanted = "\n".join((TORCH, *environment.requirements)) + "\n"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {', '.join(environment.requirements)} into {environment.name}", flush=True)
    _call(sys.executable, "-m", "venv", str(home))
    pins = home / "constraints.txt"
    pins.write_text(TORCH + "\n", encoding="utf-8")
    pip = (str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    _call(*pip, TORCH)
    _call(*pip, "--constraint", str(pins), *environment.requirements)
    stamp.write_text(wanted, encoding="utf-8")
    return python


def versions(environment: Environment) -> dict[str, str]:
    """The versions of the simulator, torch and numpy as installed."""
    names = [environment.package, "torch", "numpy"]
    code = "import sys; from importlib.metadata import version as v; print(*map(v, sys.argv[1:]))"
    command = [str(interpreter(environment)), "-c", code, *names]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return dict(zip(names, answer.stdout.split(), strict=True))


def _call(*command: str) -> None:
    subprocess.run(command, check=True, timeout=MINUTES * 60)
