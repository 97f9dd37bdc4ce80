"""A federation on several machines: a folder for each, with its keys and the script that starts it.

The scripts use only what lies beside them, so a folder can be copied anywhere. A client's private key
is in that client's folder and nowhere else.
"""

import shlex
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import tomli_w

from bherd.config import Config
from bherd.errors import InputError
from bherd.federation import keys
from bherd.federation.address import check_bind, check_port, check_reachable, is_v6, location
from bherd.federation.plan import ENVIRONMENT, HOST, hosts, node_settings, write_app
from bherd.flower.settings import Rules
from bherd.flower.store import STATE_VARIABLE
from bherd.tasks.datasets.places import ENVIRONMENT_VARIABLE as DATA_VARIABLE

SERVER_FILE, RUN = "server.toml", "run"
_NODE_PORT = 9094
"""Flower's own choice for a node's loopback port; client I has the I-th after it."""

_HEAD = f"""#!/bin/sh
# {{what}}
set -eu
if [ -n "${{{{{DATA_VARIABLE}:-}}}}" ]; then
    {DATA_VARIABLE}=$(CDPATH= cd -- "${DATA_VARIABLE}" && pwd)
    export {DATA_VARIABLE}
fi
CDPATH= cd -- "$(dirname -- "$0")"
"""


@dataclass(frozen=True)
class ServerAddress:
    """Where a server is found and where it listens."""

    host: str
    port: int
    bind: str

    @property
    def address(self) -> str:
        """HOST:PORT, as the clients call it."""
        return location(self.host, self.port)


def server_at(host: str, port: int, bind: str | None = None) -> ServerAddress:
    """A server under this name or address; it listens on all addresses unless `bind` names one."""
    name = check_reachable(host)
    everywhere = "::" if is_v6(name) else "0.0.0.0"
    return ServerAddress(name, check_port(port), everywhere if bind is None else check_bind(bind))


def write_folders(out: Path, config: Config, rules: Rules, server: ServerAddress) -> None:
    """Write OUT/server and OUT/client-0, client-1 and so on, with TLS and keys."""
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty; choose another --out")
    clients = config.task.clients
    folder = out / "server"
    folder.mkdir(mode=0o700, parents=True)
    keys.make_keys(folder / "keys", clients, hosts(server.host, server.bind))
    _write_server(folder, config, rules, server)
    for client in range(clients):
        _write_client(out / f"client-{client}", folder, client, clients, server)


def _write_server(folder: Path, config: Config, rules: Rules, server: ServerAddress) -> None:
    write_app(folder / "app", config, replace(rules, out=RUN))
    content = {"bind": server.bind, "port": server.port}
    (folder / SERVER_FILE).write_text(tomli_w.dumps(content), encoding="utf-8")
    command = ["flower-superlink", "--host", server.bind, "--port", str(server.port)]
    command += ["--ssl-ca-certfile", f"keys/{keys.CA_CERTIFICATE}"]
    command += ["--ssl-certfile", f"keys/{keys.SERVER_CERTIFICATE}"]
    command += ["--ssl-keyfile", f"keys/{keys.SERVER_KEY}", "--enable-supernode-auth"]
    _script(
        folder / "start.sh",
        "Starts the server. Whoever reaches its port can run code here and on the clients: keep it private.",
        f'{_exports(ENVIRONMENT)}export FLWR_HOME="$PWD/flower"\nexec {shlex.join(command)}\n',
    )
    _script(
        folder / "register.sh",
        "Lets the clients in, by their public keys; after every start of the server.",
        "exec bherd federation register .\n",
    )
    _script(
        folder / "run.sh",
        "Runs the experiment. Run it again to continue one that was interrupted.",
        "exec bherd federation submit .\n",
    )


def _write_client(
    folder: Path, server_folder: Path, client: int, clients: int, server: ServerAddress
) -> None:
    folder.mkdir(mode=0o700)
    shutil.copy2(server_folder / "keys" / keys.CA_CERTIFICATE, folder / keys.CA_CERTIFICATE)
    (server_folder / "keys" / keys.node_key(client)).rename(folder / "key")
    port = _NODE_PORT + client % (65536 - _NODE_PORT)
    command = ["flower-supernode", "--superlink", server.address, "--host", HOST, "--port", str(port)]
    command += ["--root-certificates", keys.CA_CERTIFICATE, "--auth-supernode-private-key", "key"]
    command += ["--node-config", node_settings(client, clients)]
    _script(
        folder / "start.sh",
        f"Starts client {client}. {DATA_VARIABLE} may name the folder with this machine's copy of the data.",
        f'{_exports(ENVIRONMENT)}export FLWR_HOME="$PWD/flower"\nexport {STATE_VARIABLE}="$PWD/state"\n'
        f"exec {shlex.join(command)}\n",
    )


def _exports(variables: dict[str, str]) -> str:
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def _script(path: Path, what: str, body: str) -> None:
    path.write_text(_HEAD.format(what=what) + body, encoding="utf-8")
    path.chmod(0o700)
