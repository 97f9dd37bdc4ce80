"""What a federation consists of: folders, commands, environment. Nothing here starts anything."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import tomli_w

from bherd.config import Config
from bherd.errors import InputError
from bherd.federation import keys
from bherd.flower.settings import Rules, flat_run_config, read_run_config
from bherd.toml import parse_toml

CONNECTION = "bherd"
ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "OMP_NUM_THREADS": "1",
}
"""No calls home, no installation at run time; a client's work runs on one core, as in a local run."""


@dataclass(frozen=True)
class Plan:
    """A federation: where its files are and where its server listens."""

    directory: Path
    """The run directory."""
    config: Config
    rules: Rules
    port: int
    host: str = "127.0.0.1"
    """Where the server is found by the nodes."""
    bind: str = "127.0.0.1"
    """The address that the server listens on."""
    tls: bool = False

    @property
    def folder(self) -> Path:
        return self.directory / "federation"

    @property
    def app(self) -> Path:
        return self.folder / "app"

    @property
    def home(self) -> Path:
        """Flower's own folder, FLWR_HOME."""
        return self.folder / "flower"

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def clients(self) -> int:
        return self.config.task.clients


def program(name: str) -> str:
    """The full path of a Flower command that belongs to this Python."""
    return str(Path(sys.executable).with_name(name))


def superlink_command(plan: Plan) -> list[str]:
    command = [program("flower-superlink"), "--host", plan.bind, "--port", str(plan.port)]
    if not plan.tls:
        return [*command, "--insecure"]
    return [
        *command,
        "--ssl-ca-certfile",
        str(plan.keys / keys.CA_CERTIFICATE),
        "--ssl-certfile",
        str(plan.keys / keys.SERVER_CERTIFICATE),
        "--ssl-keyfile",
        str(plan.keys / keys.SERVER_KEY),
        "--enable-supernode-auth",
    ]


def supernode_command(plan: Plan, client: int, port: int) -> list[str]:
    """The command of one SuperNode; `port` is that of its own loopback interface."""
    state = plan.folder / "nodes"
    command = [
        program("flower-supernode"),
        "--superlink",
        plan.address,
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--node-config",
        f'partition-id={client} num-partitions={plan.clients} state-dir="{state}"',
    ]
    if not plan.tls:
        return [*command, "--insecure"]
    return [
        *command,
        "--root-certificates",
        str(plan.keys / keys.CA_CERTIFICATE),
        "--auth-supernode-private-key",
        str(plan.keys / keys.node_key(client)),
    ]


def register_command(plan: Plan, client: int) -> list[str]:
    """Tells the SuperLink to let a node in by its public key."""
    public = plan.keys / f"{keys.node_key(client)}.pub"
    return [program("flwr"), "supernode", "register", str(public), CONNECTION]


def run_command(plan: Plan) -> list[str]:
    return [program("flwr"), "run", str(plan.app), CONNECTION, "--format", "json"]


def environment(plan: Plan) -> dict[str, str]:
    """What every process of the federation needs in its environment.

    Flower starts its helpers by their bare names, so this Python's programs come first on the path.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**ENVIRONMENT, "FLWR_HOME": str(plan.home), "PATH": path}


def write_files(plan: Plan) -> None:
    """Write the Flower app, the connection to the server and, with TLS, the keys that are missing."""
    for folder in (plan.folder, plan.app, plan.home, plan.logs):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_app(plan, plan.app, out=str(plan.directory))
    connection: dict[str, str | bool] = {"address": plan.address}
    if plan.tls:
        connection["root-certificates"] = str(plan.keys / keys.CA_CERTIFICATE)
    else:
        connection["insecure"] = True
    tree = {"superlink": {"default": CONNECTION, CONNECTION: connection}}
    (plan.home / "config.toml").write_text(tomli_w.dumps(tree), encoding="utf-8")
    if plan.tls and not (plan.keys / keys.SERVER_KEY).exists():
        keys.make_keys(plan.keys, plan.clients, hosts(plan))


def hosts(plan: Plan) -> list[str]:
    """The names under which the server's certificate is valid."""
    return list(dict.fromkeys([plan.host, "localhost", "127.0.0.1"]))


def write_app(plan: Plan, folder: Path, out: str) -> None:
    """The Flower app: bherd's own components and this run's configuration."""
    rules = replace(plan.rules, out=out)
    config: dict[str, dict[str, object]] = {}
    for key, value in flat_run_config(plan.config, rules).items():
        section, _, name = key.partition(".")
        config.setdefault(section, {})[name] = value
    tree = {
        "project": {
            "name": "bherd-federation",
            "version": "1.0.0",
            "description": "A federation of bherd",
            "license": "Apache-2.0",
            "dependencies": [],
        },
        "tool": {
            "flwr": {
                "app": {
                    "publisher": "bherd",
                    "components": {
                        "serverapp": "bherd.flower.server_app:app",
                        "clientapp": "bherd.flower.client_app:app",
                    },
                    "config": config,
                }
            }
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(tomli_w.dumps(tree), encoding="utf-8")


def read_plan(directory: Path, port: int) -> Plan:
    """The plan of a federation that was up before, to run on another port."""
    path = directory / "federation" / "app" / "pyproject.toml"
    if not path.is_file():
        raise InputError(f"{directory} is not the run directory of a federation: it has no {path.name}")
    tables = parse_toml(path)["tool"]["flwr"]["app"]["config"]
    flat = {f"{section}.{name}": value for section, table in tables.items() for name, value in table.items()}
    config, rules = read_run_config(flat)
    tls = (directory / "federation" / "keys" / keys.SERVER_KEY).exists()
    return Plan(directory, config, replace(rules, out=""), port, tls=tls)
