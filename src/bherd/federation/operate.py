"""On the server of several machines: let the clients in, run the experiment, say how it ended."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from bherd.config import Config
from bherd.errors import InputError
from bherd.federation import keys
from bherd.federation.address import check_bind, check_port, location, own_address
from bherd.federation.follow import OnRound, follow, outcome_file, run_command, statuses, submit
from bherd.federation.plan import process_environment, read_app, register_command, write_connection
from bherd.federation.several import RUN, SERVER_FILE
from bherd.flower.nodes import FederationError
from bherd.runs.directory import ENDED
from bherd.runs.verify import read_summary
from bherd.session import prepare
from bherd.toml import parse_toml

Say = Callable[[str], None]


def register_nodes(folder: Path, say: Say) -> None:
    """Let in the clients whose public keys are in the server's folder; those that were let in stay so."""
    variables = _connect(folder)
    for public in sorted((folder / "keys").glob(f"{keys.node_key(0)[:-1]}*.pub"), key=_number):
        try:
            run_command(register_command(public), variables)
            say(f"{public.stem} is let in")
        except FederationError as error:
            if "already in use" not in str(error):
                raise
            say(f"{public.stem} was let in before")


def run_experiment(folder: Path, config: Config, say: Say, on_round: OnRound) -> dict[str, Any]:
    """Run the experiment of a server's folder, or go on with it, and return its summary.

    Args:
        folder: the server's folder, whose `run` becomes the run directory.
        config: the experiment, as `read_experiment` gives it.
        say: told what happens.
        on_round: told every round that is done.

    Raises:
        InputError: the data, the partition or the model cannot be had on this machine.
        FederationError: the run has failed.
    """
    directory = folder / RUN
    summary = read_summary(directory)
    if summary is not None and summary["status"] in ENDED:
        return summary
    prepare(config)
    variables = _connect(folder)
    active = [number for number, status in statuses(variables).items() if not status.startswith("finished")]
    if active:
        run_id = active[0]
        say(f"run {run_id} is under way")
    else:
        outcome_file(directory).unlink(missing_ok=True)
        run_id = submit(folder / "app", variables)
        say(f"run {run_id} is submitted")
    advice = "what start.sh printed says why. Call run.sh again to continue"
    return follow(directory, run_id, variables, on_round, lambda: None, advice)


def read_experiment(folder: Path) -> Config:
    """The configuration of the experiment in a server's folder."""
    if not (folder / SERVER_FILE).is_file():
        raise InputError(
            f"{folder} has no {SERVER_FILE}: must be a server's folder. Write one with "
            "`bherd federation config`."
        )
    config, _ = read_app(folder / "app")
    return config


def _connect(folder: Path) -> dict[str, str]:
    """Point Flower's commands at the server of this machine, on the loopback interface if it is there."""
    read_experiment(folder)
    tables = parse_toml(folder / SERVER_FILE)
    host, port = own_address(check_bind(str(tables["bind"]))), check_port(int(tables["port"]))
    home = folder / "flower"
    write_connection(home, location(host, port), folder / "keys" / keys.CA_CERTIFICATE)
    return process_environment(home)


def _number(public: Path) -> int:
    return int(public.stem.rpartition("-")[2])
