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
HOST = "127.0.0.1"
"""Where the server and the nodes of one machine listen."""
ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "OMP_NUM_THREADS": "1",
}
"""No calls home, no installation at run time; a client's work runs on one core, as in a local run."""


@dataclass(frozen=True)
class FederationPlan:
    """A federation on one machine: where its files are and on which port its server listens."""

    directory: Path
    """The run directory."""
    config: Config
    rules: Rules
    port: int
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
    def states(self) -> Path:
        """Where the nodes keep the clients' own states."""
        return self.folder / "nodes"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def public_key(self, client: int) -> Path:
        return self.keys / f"{keys.node_key(client)}.pub"

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def clients(self) -> int:
        return self.config.task.clients


def program(name: str) -> str:
    """The full path of a Flower command that belongs to this Python."""
    return str(Path(sys.executable).with_name(name))


def superlink_command(plan: FederationPlan) -> list[str]:
    command = [program("flower-superlink"), "--host", HOST, "--port", str(plan.port)]
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


def supernode_command(plan: FederationPlan, client: int, port: int) -> list[str]:
    """The command of one SuperNode; `port` is that of its own loopback interface."""
    command = [
        program("flower-supernode"),
        "--superlink",
        plan.address,
        "--host",
        HOST,
        "--port",
        str(port),
        "--node-config",
        node_settings(client, plan.clients),
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


def node_settings(client: int, clients: int) -> str:
    """A node's --node-config. Paths are told by its environment, where they need no quotes."""
    return f"partition-id={client} num-partitions={clients}"


def register_command(public: Path) -> list[str]:
    """Tells the SuperLink to let a node in by its public key."""
    return [program("flwr"), "supernode", "register", str(public), CONNECTION]


def process_environment(home: Path) -> dict[str, str]:
    """What every process of the federation needs in its environment; `home` is Flower's own folder.

    Flower starts its helpers by their bare names, so this Python's programs come first on the path.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    return {**ENVIRONMENT, "FLWR_HOME": str(home), "PATH": path}


def write_files(plan: FederationPlan) -> None:
    """Write the Flower app, the connection to the server and, with TLS, the keys that are missing."""
    for folder in (plan.folder, plan.app, plan.home, plan.logs):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_app(plan.app, plan.config, replace(plan.rules, out=str(plan.directory)))
    write_connection(plan.home, plan.address, plan.keys / keys.CA_CERTIFICATE if plan.tls else None)
    if plan.tls and not (plan.keys / keys.SERVER_KEY).exists():
        keys.make_keys(plan.keys, plan.clients, hosts(HOST))


def hosts(*more: str) -> list[str]:
    """The names under which the server's certificate is valid: these, and those of the loopback interface."""
    return list(dict.fromkeys([*more, "localhost", "127.0.0.1", "::1"]))


def write_connection(home: Path, address: str, certificate: Path | None) -> None:
    """Tell Flower's commands where the SuperLink is; no certificate: without TLS."""
    connection: dict[str, str | bool] = {"address": address}
    if certificate is None:
        connection["insecure"] = True
    else:
        connection["root-certificates"] = str(certificate)
    tree = {"superlink": {"default": CONNECTION, CONNECTION: connection}}
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "config.toml").write_text(tomli_w.dumps(tree), encoding="utf-8")


def write_app(folder: Path, settings: Config, rules: Rules) -> None:
    """The Flower app: bherd's own components and this run's configuration."""
    config: dict[str, dict[str, object]] = {}
    for key, value in flat_run_config(settings, rules).items():
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


def read_app(folder: Path) -> tuple[Config, Rules]:
    """The configuration and the rules in an app that `write_app` has written."""
    tables = parse_toml(folder / "pyproject.toml")["tool"]["flwr"]["app"]["config"]
    flat = {f"{section}.{name}": value for section, table in tables.items() for name, value in table.items()}
    return read_run_config(flat)


def read_plan(directory: Path, port: int) -> FederationPlan:
    """The plan of a federation that was up before, to run on another port."""
    app = directory / "federation" / "app"
    if not (app / "pyproject.toml").is_file():
        raise InputError(f"{directory} is not the run directory of a federation: it has no federation/app")
    config, rules = read_app(app)
    tls = (directory / "federation" / "keys" / keys.SERVER_KEY).exists()
    return FederationPlan(directory, config, replace(rules, out=""), port, tls=tls)
