"""The ServerApp: Flower's entry point on the server. It writes a run directory like any local run."""

import json
from dataclasses import replace
from logging import INFO, WARNING
from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.common.logger import log
from flwr.serverapp import Grid, ServerApp

from bherd.config import Config
from bherd.errors import BherdError, DamagedFileError, InputError
from bherd.flower.engine import FlowerEngine, new_name
from bherd.flower.replies import Rejection
from bherd.flower.settings import Rules, check_config, read_run_config
from bherd.loop.engine import Engine
from bherd.runs import directory as run_directory
from bherd.runs.files import make_directory, write_atomically
from bherd.runs.life import check_same, resume, run
from bherd.session import Session, prepare

NAME = "federation.json"
REJECTIONS = "rejections.jsonl"
OUTCOME = "outcome.json"

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the run configuration describes, or go on with an unfinished one."""
    config, rules = read_run_config(context.run_config)
    directory = Path(rules.out) if rules.out else Path("runs") / f"flower-{context.run_id}"
    try:
        summary = run_federation(grid, config, rules, directory)
    except BherdError as error:
        if (directory / run_directory.FEDERATION).is_dir():
            content = json.dumps({"error": str(error)}).encode()
            write_atomically(directory / run_directory.FEDERATION / OUTCOME, content)
        raise
    log(INFO, "%s after %d rounds: %s", summary["status"], summary["rounds_done"], directory)


def run_federation(
    grid: Grid, config: Config, rules: Rules, directory: Path, poll: float = 0.5
) -> dict[str, Any]:
    """Run a configuration's rounds through a grid into a run directory, and return its summary.

    A directory that holds an unfinished run of a federation is continued from its checkpoint.
    """
    if rules.wire != "sum":
        raise InputError(
            "bherd's own server takes the sum form; with federation.wire = 'weights' use a stock strategy "
            "in a ServerApp of your own"
        )
    check_config(config)
    # a client's state is acknowledged by round, so every round must be durable before the next begins
    config = replace(config, run=replace(config.run, checkpoint_every=1))
    name = federation_name(directory)
    rejected = directory / run_directory.FEDERATION / REJECTIONS

    def note(rejection: Rejection) -> None:
        with rejected.open("ab") as file:
            file.write(rejection.line())

    def engine(session: Session) -> Engine:
        return FlowerEngine(grid, session, rules, name, note, poll)

    def say(line: dict[str, Any]) -> None:
        accuracy = line["test_accuracy"]
        shown = "" if accuracy is None else f", test accuracy {accuracy:.4f}"
        log(INFO, "round %d: %d clients%s", line["round"], line["clients"], shown)

    if not (directory / run_directory.CONFIG).exists():
        session = prepare(config)
        step = session.step()
        if step is not None and step.note is not None:
            log(WARNING, "%s", step.note)
        return run(session, directory, say, make_engine=engine)
    check_same(config, directory)
    return resume(directory, say, make_engine=engine)


def federation_name(directory: Path) -> str:
    """The name of the federation of a run directory, made up if it is new."""
    path = directory / run_directory.FEDERATION / NAME
    if not path.exists():
        make_directory(path.parent)
        write_atomically(path, json.dumps({"name": new_name()}).encode() + b"\n")
    try:
        return str(json.loads(path.read_bytes())["name"])
    except (ValueError, KeyError) as error:
        raise DamagedFileError(f"{path} is damaged and cannot be read: {error}") from error


def read_rejections(directory: Path) -> list[Rejection]:
    """The replies of a federation that did not count."""
    path = directory / run_directory.FEDERATION / REJECTIONS
    if not path.exists():
        return []
    return [Rejection(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
