"""Real processes on the loopback interface: SuperLink, SuperNodes, TLS, kills. A few minutes in all."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from bherd.config import Config
from bherd.federation import keys
from bherd.federation import plan as plans
from bherd.federation.plan import FederationPlan, read_plan
from bherd.federation.processes import Process, free_ports
from bherd.federation.up import up
from bherd.flower import FederationError, Rules
from bherd.flower.server_app import read_rejections
from bherd.runs.life import run
from bherd.runs.read import lines_so_far
from bherd.session import prepare
from bherd.tasks.flat import unravel
from tests.flower.grid import reference
from tests.tiny import tiny_config

pytestmark = [pytest.mark.deployment, pytest.mark.slow]
BHERD = str(Path(sys.executable).with_name("bherd"))
RULES = Rules(start_timeout=120, round_timeout=150)


def processes_of(directory: Path) -> list[int]:
    """Every process whose environment points into this run directory."""
    wanted = f"FLWR_HOME={directory}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            content = (entry / "environ").read_bytes()
        except OSError:
            continue
        if wanted in content and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    """A run directory; whatever a failed test leaves running is ended."""
    path = tmp_path / "run"
    yield path
    left = processes_of(path)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert left == []


def watched(
    plan: FederationPlan, started: Callable[[list[Process]], None] | None = None
) -> tuple[list[str], object]:
    said: list[str] = []
    summary = up(plan, said.append, lambda _: None, started=started or (lambda _: None))
    return said, summary


def model_of(directory: Path) -> dict[str, Tensor]:
    return load_file(directory / "model.safetensors")


def later(when: Callable[[], bool], then: Callable[[], None], seconds: float = 150) -> threading.Thread:
    """Do something as soon as a condition holds."""

    def wait() -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if when():
                then()
                return
            time.sleep(0.1)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def after_round(directory: Path, round: int) -> Callable[[], bool]:
    return lambda: len(lines_so_far(directory)) >= round


def equals_reference(directory: Path, config: Config) -> set[tuple[int, int]]:
    """Check the final model against a reference run with the same absences, which are returned."""
    rows = pq.read_table(directory / "clients.parquet", columns=["round", "client"]).to_pylist()
    present = {(row["round"], row["client"]) for row in rows}
    everybody = {(r, c) for r in range(1, config.train.rounds + 1) for c in range(config.task.clients)}
    absent = everybody - present
    expected = unravel(prepare(config).task.model.module, reference(config, absent).params)
    stored = model_of(directory)
    for name, values in expected.items():
        torch.testing.assert_close(stored[name], values, rtol=0, atol=1e-12)
    return absent


def test_tls_authentication_and_strangers(directory: Path, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-scaffold", clients=5, rounds=3)
    plan = FederationPlan(directory, config, RULES, free_ports(1)[0], tls=True)
    strangers: list[Process] = []

    def intrude(processes: list[Process]) -> None:
        """Two nodes that must not get in: one with a key of its own, one without any."""
        assert len(processes) == 6
        keys.make_node_key(tmp_path / "stranger")
        common = [plans.program("flower-supernode"), "--superlink", plan.address, "--host", "127.0.0.1"]
        common += ["--root-certificates", str(plan.keys / keys.CA_CERTIFICATE)]
        common += ["--node-config", "partition-id=0 num-partitions=5", "--max-retries", "1"]
        for extra in (["--auth-supernode-private-key", str(tmp_path / "stranger")], []):
            command = [*common, "--port", str(free_ports(1)[0]), *extra]
            log = tmp_path / f"stranger-{len(strangers)}.log"
            strangers.append(Process("stranger", command, plans.process_environment(plan.home), log))
            strangers[-1].start()

    _, summary = watched(plan, intrude)
    assert isinstance(summary, dict)
    assert (summary["status"], summary["rounds_done"]) == ("complete", 3)
    assert len(strangers) == 2
    refused = [stranger.exit_code for stranger in strangers]
    for stranger in strangers:
        stranger.stop(time.monotonic())
    assert all(code not in (None, 0) for code in refused), [stranger.tail(20) for stranger in strangers]
    assert read_rejections(directory) == []
    assert equals_reference(directory, config) == set()
    run(config.replace(checkpoint_every=1), tmp_path / "local")
    local, networked = model_of(tmp_path / "local"), model_of(directory)
    assert all(torch.equal(networked[name], local[name]) for name in local)
    secret = [path for path in plan.keys.iterdir() if path.suffix != ".pub"]
    assert len(secret) == 8
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}
    assert stat.S_IMODE(plan.keys.stat().st_mode) == 0o700


def test_a_killed_supernode_is_started_again(directory: Path, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-scaffold", rounds=5)
    plan = FederationPlan(directory, config, RULES, free_ports(1)[0])

    def kill_one(processes: list[Process]) -> None:
        later(after_round(directory, 1), lambda: os.kill(processes[2].pid, signal.SIGKILL))

    said, summary = watched(plan, kill_one)
    assert isinstance(summary, dict)
    assert summary["status"] == "complete"
    assert any("client 1 has died (exit code -9)" in line for line in said)
    assert any("client 1 is started again" in line for line in said)
    absent = equals_reference(directory, config)
    assert {client for _, client in absent} <= {1}
    assert {(r.round, r.client) for r in read_rejections(directory)} <= absent


def test_a_killed_superlink_and_the_way_back(directory: Path, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-scaffold", rounds=4)
    plan = FederationPlan(directory, config, RULES, free_ports(1)[0])

    def kill_link(processes: list[Process]) -> None:
        later(after_round(directory, 2), lambda: os.kill(processes[0].pid, signal.SIGKILL))

    with pytest.raises(FederationError, match=r"SuperLink has died .*bherd federation resume"):
        watched(plan, kill_link)
    assert processes_of(directory) == []
    done = len(lines_so_far(directory))
    assert 2 <= done < 4
    _, summary = watched(read_plan(directory, free_ports(1)[0]))
    assert isinstance(summary, dict)
    assert (summary["status"], summary["rounds_done"]) == ("complete", 4)
    assert equals_reference(directory, config) == set()


def test_ctrl_c_takes_everything_down(directory: Path, tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    command = [BHERD, "federation", "up", "--clients", "2", "--rounds", "500"]
    command += [
        "--dataset",
        config.task.dataset,
        "--model",
        "svm",
        "--batch-size",
        "10",
        "--out",
        str(directory),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 120
        while not after_round(directory, 1)() and time.monotonic() < deadline:
            assert process.poll() is None, process.communicate()
            time.sleep(0.2)
        assert len(processes_of(directory)) >= 3
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert f"continue with `bherd federation resume {directory}`" in errors
    assert processes_of(directory) == []
