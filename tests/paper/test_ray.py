"""A Ray instance that a reproduction starts for itself is for this machine alone."""

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
LOOPBACK = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def listening(root: int) -> set[str]:
    """The addresses that a process and its descendants listen on at this moment."""
    found = set()
    with suppress(psutil.Error):
        process = psutil.Process(root)
        for one in (process, *process.children(recursive=True)):
            with suppress(psutil.Error):
                sockets = one.net_connections("inet")
                found |= {s.laddr.ip for s in sockets if s.status == psutil.CONN_LISTEN}
    return found


@pytest.mark.slow
def test_a_local_ray_instance_listens_on_loopback_alone(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    arguments = ["4e", "--scale", "smoke", "--seeds", "1", "--problems", "svm-mnist", "--engine", "ray"]
    places = ["--work", str(tmp_path / "runs"), "--out", str(tmp_path / "results")]
    child = subprocess.Popen(
        [sys.executable, "-m", "paper", *arguments, *places],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    addresses: set[str] = set()
    try:
        deadline = time.monotonic() + 300
        while child.poll() is None and time.monotonic() < deadline:
            addresses |= listening(child.pid)
            time.sleep(0.2)
        assert child.poll() == 0
    finally:
        child.kill()
        child.wait()
    assert addresses
    assert addresses <= LOOPBACK
