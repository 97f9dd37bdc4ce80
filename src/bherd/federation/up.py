"""`up`: a whole federation on one machine, kept running until its experiment is done."""

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from bherd.federation import plan as plans
from bherd.federation.plan import Plan
from bherd.federation.processes import MARK, Process, free_ports, listens, new_mark, stop_all
from bherd.flower.roster import FederationError
from bherd.flower.server_app import OUTCOME
from bherd.runs import directory as names

Say = Callable[[str], None]
OnRound = Callable[[dict[str, Any]], None]

_LOOK = 0.5
_LINK_SECONDS = 90.0
_COMMAND_SECONDS = 120.0
_RESTARTS = 8
_STATUS_EVERY = 30.0
_ENDED = ("finished",)


class Node:
    """A SuperNode that is started again when it dies, after ever longer pauses."""

    def __init__(self, process: Process, say: Say) -> None:
        self.process, self._say = process, say
        self.restarts = 0
        self._next: float | None = None

    def look(self, now: float) -> None:
        code = self.process.exit_code
        if code is None:
            return
        if self._next is None:
            if self.restarts >= _RESTARTS:
                raise FederationError(
                    f"{self.process.name} died {self.restarts + 1} times, the last time with exit code "
                    f"{code}; its log is {self.process.log}"
                )
            pause = min(30.0, 2.0**self.restarts)
            self._next = now + pause
            self._say(f"{self.process.name} has died (exit code {code}); starting it again in {pause:g} s")
        elif now >= self._next:
            self._next = None
            self.restarts += 1
            self.process.start()
            self._say(f"{self.process.name} is started again, process {self.process.pid}")


def up(
    plan: Plan, say: Say, on_round: OnRound, *, started: Callable[[list[Process]], None]
) -> dict[str, Any]:
    """Start every process, run the experiment, and return its summary; nothing is left running.

    `started` is given the processes, the SuperLink first, once the experiment runs.
    """
    plans.write_files(plan)
    (plan.folder / OUTCOME).unlink(missing_ok=True)
    mark = new_mark()
    environment = {**plans.environment(plan), MARK: mark}
    processes: list[Process] = []
    with _stopped_by_signals():
        try:
            link = Process(
                "SuperLink", plans.superlink_command(plan), environment, plan.logs / "superlink.log"
            )
            processes.append(link)
            link.start()
            _wait_for_link(link, plan.port)
            say(f"SuperLink on {plan.address}, process {link.pid}{', TLS' if plan.tls else ''}")
            if plan.tls:
                for client in range(plan.clients):
                    _command(plans.register_command(plan, client), environment)
            nodes = []
            for client, port in enumerate(free_ports(plan.clients)):
                command = plans.supernode_command(plan, client, port)
                log = plan.logs / f"client-{client}.log"
                process = Process(f"client {client}", command, environment, log)
                processes.append(process)
                process.start()
                say(f"client {client}: SuperNode, process {process.pid}")
                nodes.append(Node(process, say))
            run_id = _run_id(_command(plans.run_command(plan), environment))
            say(f"run {run_id} is submitted")
            started(processes)
            return _watch(plan, link, nodes, run_id, environment, on_round)
        finally:
            stop_all(processes, mark)


def _wait_for_link(link: Process, port: int) -> None:
    deadline = time.monotonic() + _LINK_SECONDS
    while not listens(port):
        if link.exit_code is not None:
            raise FederationError(f"the SuperLink did not start (exit code {link.exit_code}):\n{link.tail()}")
        if time.monotonic() > deadline:
            raise FederationError(f"the SuperLink does not listen on port {port}; its log is {link.log}")
        time.sleep(0.2)


def _command(command: Sequence[str], environment: dict[str, str]) -> str:
    """Run a Flower command to its end and return what it printed."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise FederationError(f"`{' '.join(command[:3])}` did not end in {_COMMAND_SECONDS:g} s") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()
        raise FederationError(f"`{Path(command[0]).name} {' '.join(command[1:3])}` failed: {said}")
    return done.stdout


def _run_id(printed: str) -> str:
    """The run's id in what `flwr run --format json` printed."""
    start = printed.find("{")
    try:
        return str(json.loads(printed[start:])["run-id"])
    except (ValueError, KeyError) as error:
        raise FederationError(f"flwr run did not say which run it started: {printed.strip()}") from error


def _watch(
    plan: Plan,
    link: Process,
    nodes: Sequence[Node],
    run_id: str,
    environment: dict[str, str],
    on_round: OnRound,
) -> dict[str, Any]:
    """Follow the run directory until the run has ended, starting dead nodes again."""
    shown = len(names.read_metrics(plan.directory))
    next_status = time.monotonic() + _STATUS_EVERY
    while True:
        for line in names.read_metrics(plan.directory)[shown:]:
            shown += 1
            on_round(line)
        summary = names.read_summary(plan.directory)
        if summary is not None and summary["status"] != "interrupted":
            return summary
        outcome = plan.folder / OUTCOME
        if outcome.exists():
            raise FederationError(str(json.loads(outcome.read_bytes())["error"]))
        if link.exit_code is not None:
            raise FederationError(
                f"the SuperLink has died (exit code {link.exit_code}), and the run with it; continue it "
                f"with `bherd federation resume {plan.directory}`"
            )
        now = time.monotonic()
        for node in nodes:
            node.look(now)
        if now >= next_status:
            next_status = now + _STATUS_EVERY
            _check_alive(plan, run_id, environment)
        time.sleep(_LOOK)


def _check_alive(plan: Plan, run_id: str, environment: dict[str, str]) -> None:
    """Notice a ServerApp that was killed, which writes nothing itself."""
    command = [plans.program("flwr"), "list", plans.CONNECTION, "--run-id", run_id, "--format", "json"]
    printed = _command(command, environment)
    try:
        (run,) = json.loads(printed[printed.find("{") :])["runs"]
        status = str(run["status"])
    except (ValueError, KeyError):
        return
    finished = status.startswith(_ENDED) and not status.startswith("finished:completed")
    if finished and not (plan.folder / OUTCOME).exists():
        raise FederationError(
            f"the ServerApp has ended ({status}); {plan.logs / 'superlink.log'} says why. Continue with "
            f"`bherd federation resume {plan.directory}`"
        )


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the federation as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
