"""A federation on several machines: a folder for each, with its keys and the script that starts it.

The scripts use only what lies beside them, so a folder can be copied anywhere. A client's private key
is in that client's folder and nowhere else.
"""

import shutil
from pathlib import Path

from bherd.config import Config
from bherd.errors import InputError
from bherd.federation import keys
from bherd.federation.plan import CONNECTION, ENVIRONMENT, Plan, write_app
from bherd.flower.settings import Rules

_HEAD = """#!/bin/sh
# {what}
set -eu
cd "$(dirname "$0")"
{exports}
export FLWR_HOME="$PWD/flower"
"""


def write_folders(out: Path, config: Config, rules: Rules, host: str, port: int) -> None:
    """Write OUT/server and OUT/client-0, client-1 and so on, with TLS and keys."""
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty; choose another --out")
    clients = config.task.clients
    server = out / "server"
    server.mkdir(mode=0o700, parents=True)
    keys.make_keys(server / "keys", clients, list(dict.fromkeys([host, "localhost", "127.0.0.1"])))
    _write_server(server, config, rules, host, port)
    for client in range(clients):
        _write_client(out / f"client-{client}", server, client, clients, host, port)


def _write_server(folder: Path, config: Config, rules: Rules, host: str, port: int) -> None:
    plan = Plan(Path("run"), config, rules, port, host=host, tls=True)
    write_app(plan, folder / "app", out="run")
    _script(
        folder / "start.sh",
        "Starts the server. It listens on all addresses of this machine.",
        f"exec flower-superlink --host 0.0.0.0 --port {port} \\\n"
        f"    --ssl-ca-certfile keys/{keys.CA_CERTIFICATE} --ssl-certfile keys/{keys.SERVER_CERTIFICATE} \\\n"
        f"    --ssl-keyfile keys/{keys.SERVER_KEY} --enable-supernode-auth\n",
    )
    _script(
        folder / "register.sh",
        "Lets the clients in, by their public keys; once after every start of the server.",
        _connect(host, port)
        + f'for key in keys/client-*.pub; do flwr supernode register "$key" {CONNECTION}; done\n',
    )
    _script(
        folder / "run.sh",
        "Runs the experiment. Run it again to continue one that was interrupted.",
        _connect(host, port) + f"exec flwr run app {CONNECTION} --stream\n",
    )


def _connect(host: str, port: int) -> str:
    """Tell Flower's commands where the server is; they want the full path of its certificate."""
    return (
        'mkdir -p "$FLWR_HOME"\n'
        'cat > "$FLWR_HOME/config.toml" <<END\n'
        f'[superlink]\ndefault = "{CONNECTION}"\n\n'
        f'[superlink.{CONNECTION}]\naddress = "{host}:{port}"\n'
        f'root-certificates = "$PWD/keys/{keys.CA_CERTIFICATE}"\nEND\n'
    )


def _write_client(folder: Path, server: Path, client: int, clients: int, host: str, port: int) -> None:
    folder.mkdir(mode=0o700)
    name = keys.node_key(client)
    shutil.copy2(server / "keys" / keys.CA_CERTIFICATE, folder / keys.CA_CERTIFICATE)
    (server / "keys" / name).rename(folder / "key")
    settings = f"partition-id={client} num-partitions={clients}"
    _script(
        folder / "start.sh",
        f"Starts client {client}. BHERD_DATA_DIR may name the folder with this machine's data.",
        f'node="{settings} state-dir=\\"$PWD/state\\""\n'
        'if [ -n "${BHERD_DATA_DIR:-}" ]; then node="$node data-dir=\\"$BHERD_DATA_DIR\\""; fi\n'
        f"exec flower-supernode --superlink {host}:{port} --root-certificates {keys.CA_CERTIFICATE} \\\n"
        '    --auth-supernode-private-key key --node-config "$node"\n',
    )


def _script(path: Path, what: str, body: str) -> None:
    exports = "\n".join(f"export {name}={value}" for name, value in ENVIRONMENT.items())
    path.write_text(_HEAD.format(what=what, exports=exports) + body, encoding="utf-8")
    path.chmod(0o700)
