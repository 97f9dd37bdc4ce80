"""The two example apps do what their pages say."""

import difflib
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp
from safetensors.torch import load_file

from bherd.federation.plan import ENVIRONMENT
from bherd.runs.life import run
from tests.flower.grid import FIRST_NODE, Handler, MemoryGrid
from tests.places import ROOT, python_path
from tests.tiny import tiny_config

EXAMPLES = ROOT / "examples"


def run_app(name: str, monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    """Load an app as Flower does, by its pyproject.toml, and run it in memory."""
    folder = EXAMPLES / name
    monkeypatch.syspath_prepend(str(folder))
    table = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    settings = {**table["config"], **{key.replace("_", "-"): value for key, value in changes.items()}}

    def load(reference: str) -> object:
        module, attribute = reference.split(":")
        return getattr(importlib.import_module(module), attribute)

    server, client_app = load(table["components"]["serverapp"]), load(table["components"]["clientapp"])
    assert isinstance(server, ServerApp)
    assert isinstance(client_app, ClientApp)
    grid = MemoryGrid({})
    for client in range(settings["num-clients"]):
        node_config = {"partition-id": client, "num-partitions": settings["num-clients"]}
        context = Context(1, FIRST_NODE - client, node_config, RecordDict(), settings)
        grid.handlers[FIRST_NODE - client] = _handler(client_app, context)
    server(grid, Context(1, 1, {}, RecordDict(), settings))


def _handler(client_app: ClientApp, context: Context) -> Handler:
    def handle(message: Message) -> Message:
        return client_app(message, context)

    return handle


def numbers(text: str, pattern: str) -> list[float]:
    return [float(found) for found in re.findall(pattern, text)]


@pytest.mark.parametrize(
    "method", ["bherd-fedavg,alpha=0.5", "grab-fednova", "fedavg", "bherd-fedavg,aggregation=median"]
)
def test_quickstart(method: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_app("flower-quickstart", monkeypatch, method=method)
    accuracy = numbers(capsys.readouterr().out, r"accuracy ([\d.]+)%")
    assert len(accuracy) == 11
    assert accuracy[0] < 20
    assert accuracy[-1] > 60  # measured: 67% to 80%


def test_existing_app(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    run_app("flower-existing-app", monkeypatch)
    losses = numbers(capsys.readouterr().out, r"test loss ([\d.]+)")
    assert len(losses) == 11
    assert losses[-1] < 0.7 * losses[0]


def test_the_difference_is_two_lines() -> None:
    folder = EXAMPLES / "flower-existing-app"
    before, after = (
        [
            line
            for line in (folder / "existing_app" / name).read_text().splitlines()
            if not line.startswith(("import ", "from ", '"""'))
        ]
        for name in ("client_before.py", "client_app.py")
    )
    difference = [line for line in difflib.ndiff(before, after) if line.startswith(("+ ", "- "))]
    added = [line[2:] for line in difference if line.startswith("+")]
    removed = [line[2:] for line in difference if line.startswith("-")]
    assert len(added) == 2
    page = (folder / "README.md").read_text()
    assert [line[1:] for line in page.splitlines() if line.startswith("+")] == added
    assert [line[1:] for line in page.splitlines() if re.match(r"-\s", line)] == removed


SIMULATION = """
import json
import sys
from pathlib import Path
import psutil
from flwr.app import Context
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation
from bherd.flower.client import answer, identity_reply, load_shard
from bherd.flower.server_app import run_federation
from bherd.flower.settings import Rules
from tests.tiny import tiny_config

folder = Path(sys.argv[1])
config = tiny_config(folder, name="bherd-scaffold", rounds=3)
client, server = ClientApp(), ServerApp()

@client.query()
def who(message, context):
    return identity_reply(message, int(context.node_config["partition-id"]))

@client.train()
def train(message, context):
    shard = load_shard(config, int(context.node_config["partition-id"]))
    return answer(message, shard, "sum", folder / "nodes")

def listening():
    # the addresses that this process and its descendants listen on
    me = psutil.Process()
    sockets = [c for p in [me, *me.children(recursive=True)] for c in p.net_connections("inet")]
    return sorted({c.laddr.ip for c in sockets if c.status == psutil.CONN_LISTEN})

@server.main()
def main(grid: Grid, context: Context) -> None:
    run_federation(grid, config, Rules(start_timeout=60, round_timeout=60), folder / "run")
    (folder / "listening.json").write_text(json.dumps(listening()))

run_simulation(
    server,
    client,
    num_supernodes=3,
    backend_config={
        "init_args": {"num_cpus": 2, "_node_ip_address": "127.0.0.1", "log_to_driver": False},
        "client_resources": {"num_cpus": 1},
    },
)
"""


@pytest.mark.slow
def test_the_simulation_runtime_gives_the_bits_of_a_local_run(tmp_path: Path) -> None:
    script = tmp_path / "simulation.py"
    script.write_text(SIMULATION)
    environment = {
        **os.environ,
        **ENVIRONMENT,
        "FLWR_HOME": str(tmp_path / "flower"),
        "PYTHONPATH": python_path(),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # without a cluster Ray keeps to the loopback interface
    }
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    addresses = json.loads((tmp_path / "listening.json").read_text())
    assert addresses
    assert set(addresses) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    config = tiny_config(tmp_path, name="bherd-scaffold", rounds=3)
    run(config, tmp_path / "local")
    local = load_file(tmp_path / "local" / "model.safetensors")
    simulated = load_file(tmp_path / "run" / "model.safetensors")
    assert all(torch.equal(simulated[name], local[name]) for name in local)
