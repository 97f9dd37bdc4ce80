"""`up`: a whole federation on one machine, kept running until its experiment is done."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from bherd.federation import plan as plans
from bherd.federation.follow import OnRound, follow, outcome_file, run_command, submit
from bherd.federation.plan import FederationPlan
from bherd.federation.processes import MARK, Process, free_ports, listens, new_mark, stop_all
from bherd.flower.nodes import FederationError
from bherd.flower.store import STATE_VARIABLE

Say = Callable[[str], None]

_LINK_SECONDS = 90.0
_RESTARTS = 8


class SuperNode:
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
    plan: FederationPlan, say: Say, on_round: OnRound, *, started: Callable[[list[Process]], None]
) -> dict[str, Any]:
    """Start every process, run the experiment, and return its summary; nothing is left running.

    `started` is given the processes, the SuperLink first, once the experiment runs.
    """
    plans.write_files(plan)
    outcome_file(plan.directory).unlink(missing_ok=True)
    mark = new_mark()
    environment = {**plans.process_environment(plan.home), STATE_VARIABLE: str(plan.states), MARK: mark}
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
                    run_command(plans.register_command(plan.public_key(client)), environment)
            nodes = []
            for client, port in enumerate(free_ports(plan.clients)):
                words = plans.supernode_command(plan, client, port)
                log = plan.logs / f"client-{client}.log"
                process = Process(f"client {client}", words, environment, log)
                processes.append(process)
                process.start()
                say(f"client {client}: SuperNode, process {process.pid}")
                nodes.append(SuperNode(process, say))
            run_id = submit(plan.app, environment)
            say(f"run {run_id} is submitted")
            started(processes)
            advice = (
                f"{plan.logs / 'superlink.log'} says why. Continue with "
                f"`bherd federation resume {plan.directory}`"
            )

            def look() -> None:
                _look(plan, link, nodes)

            return follow(plan.directory, run_id, environment, on_round, look, advice)
        finally:
            stop_all(processes, mark)


def _look(plan: FederationPlan, link: Process, nodes: Sequence[SuperNode]) -> None:
    """Notice a dead SuperLink, and start dead nodes again."""
    if link.exit_code is not None:
        raise FederationError(
            f"the SuperLink has died (exit code {link.exit_code}), and the run with it; continue it "
            f"with `bherd federation resume {plan.directory}`"
        )
    now = time.monotonic()
    for node in nodes:
        node.look(now)


def _wait_for_link(link: Process, port: int) -> None:
    deadline = time.monotonic() + _LINK_SECONDS
    while not listens(port):
        if link.exit_code is not None:
            raise FederationError(f"the SuperLink did not start (exit code {link.exit_code}):\n{link.tail()}")
        if time.monotonic() > deadline:
            raise FederationError(f"the SuperLink does not listen on port {port}; its log is {link.log}")
        time.sleep(0.2)


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
