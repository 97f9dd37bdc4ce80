"""Processes that are kept an eye on, and that leave nothing behind."""

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

MARK = "BHERD_FEDERATION"
"""Set to one value in the environment of everything that a federation starts, by which it is found."""


class Process:
    """One program with its log, in a session of its own so that Ctrl-C does not reach it first."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self.name, self.command, self.log = name, list(command), log
        self._environment = {**os.environ, **environment}
        self._running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(
                self.command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        assert self._running is not None, "not started"
        return self._running.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return None if self._running is None else self._running.poll()

    def tail(self, lines: int = 5) -> str:
        """The end of its log."""
        with suppress(OSError):
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        return ""

    def ask_to_stop(self) -> None:
        if self._running is not None and self._running.poll() is None:
            self._running.terminate()

    def stop(self, deadline: float) -> None:
        """Wait for the end until the deadline, then kill it and its session."""
        if self._running is None:
            return
        with suppress(subprocess.TimeoutExpired):
            self._running.wait(max(0.0, deadline - time.monotonic()))
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._running.pid, signal.SIGKILL)
        self._running.wait()


def stop_all(processes: Sequence[Process], mark: str, seconds: float = 10.0) -> None:
    """End the processes, gently first, and then whatever else bears their mark."""
    for process in processes:
        process.ask_to_stop()
    deadline = time.monotonic() + seconds
    for process in processes:
        process.stop(deadline)
    for _ in range(50):
        left = marked(mark)
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def marked(mark: str) -> list[int]:
    """The processes with this mark in their environment, as far as the system lets us look.

    Where there is no /proc, Flower's own watch over its parent processes must do.
    """
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            pid = int(entry.name)
            if pid != os.getpid() and wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(pid)
    return found


def new_mark() -> str:
    return secrets.token_hex(8)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback interface that nobody listens on just now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def listens(port: int) -> bool:
    """Whether somebody answers on a loopback port."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
