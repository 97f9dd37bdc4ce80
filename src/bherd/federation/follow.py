"""Flower's commands, and the run that they started: followed by what it writes until it has ended."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bherd.federation.plan import CONNECTION, program
from bherd.flower.nodes import FederationError
from bherd.flower.server_app import OUTCOME
from bherd.runs.directory import ENDED, FEDERATION
from bherd.runs.read import lines_so_far
from bherd.runs.verify import read_summary

OnRound = Callable[[dict[str, Any]], None]

_LOOK = 0.5
_COMMAND_SECONDS = 120.0
_STATUS_EVERY = 30.0


def run_command(words: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run a Flower command to its end and return what it printed."""
    short = " ".join([Path(words[0]).name, *words[1:3]])
    try:
        done = subprocess.run(
            words,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=_COMMAND_SECONDS,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired as error:
        raise FederationError(f"`{short}` did not end in {_COMMAND_SECONDS:g} s") from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip()
        raise FederationError(f"`{short}` failed: {said}")
    return done.stdout


def submit(app: Path, environment: Mapping[str, str]) -> str:
    """Start a run of an app and return its id."""
    words = [program("flwr"), "run", str(app), CONNECTION, "--format", "json"]
    printed = run_command(words, environment)
    try:
        return str(json.loads(printed[printed.find("{") :])["run-id"])
    except (ValueError, KeyError) as error:
        raise FederationError(f"flwr run did not say which run it started: {printed.strip()}") from error


def statuses(environment: Mapping[str, str]) -> dict[str, str]:
    """The status of every run that the SuperLink knows, by its id."""
    printed = run_command([program("flwr"), "list", CONNECTION, "--format", "json"], environment)
    try:
        runs = json.loads(printed[printed.find("{") :])["runs"]
        return {str(run["run-id"]): str(run["status"]) for run in runs}
    except (ValueError, KeyError, TypeError) as error:
        raise FederationError(f"flwr list cannot be read: {printed.strip()}") from error


def follow(
    directory: Path,
    run_id: str,
    environment: Mapping[str, str],
    on_round: OnRound,
    look: Callable[[], None],
    advice: str,
) -> dict[str, Any]:
    """Follow a run by its directory until it has ended, and return its summary.

    Args:
        directory: the run directory, which the ServerApp writes.
        run_id: Flower's id of the run.
        environment: what Flower's commands need to find the SuperLink.
        on_round: told every line of metrics.jsonl that is new.
        look: called twice a second; raises if the run cannot go on.
        advice: what to do when the ServerApp has ended without a word.

    Raises:
        FederationError: the run has failed; the message is the ServerApp's own where it left one.
    """
    shown = len(lines_so_far(directory))
    next_status = time.monotonic() + _STATUS_EVERY
    ended = None
    while True:
        for line in lines_so_far(directory)[shown:]:
            shown += 1
            on_round(line.plain())
        summary = read_summary(directory)
        if summary is not None and summary["status"] in ENDED:
            return summary
        outcome = outcome_file(directory)
        if outcome.exists():
            raise FederationError(str(json.loads(outcome.read_bytes())["error"]))
        if ended is not None:
            raise FederationError(f"the ServerApp has ended ({ended}) without a result; {advice}")
        look()
        if time.monotonic() >= next_status:
            next_status = time.monotonic() + _STATUS_EVERY
            status = statuses(environment).get(run_id, "unknown to the SuperLink")
            ended = status if status.startswith(("finished", "unknown")) else None
        time.sleep(_LOOK)


def outcome_file(directory: Path) -> Path:
    """Where the ServerApp writes why it failed."""
    return directory / FEDERATION / OUTCOME
