"""Settings, commands, keys and the watch over processes, without a network."""

import os
import signal
import ssl
import stat
import sys
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from bherd.cli import main
from bherd.config import Config
from bherd.errors import InputError
from bherd.federation import keys
from bherd.federation import plan as plans
from bherd.federation.plan import FederationPlan, read_plan
from bherd.federation.processes import MARK, Process, free_ports, listens, marked, new_mark, stop_all
from bherd.federation.up import SuperNode
from bherd.flower import FederationError, Rules
from bherd.flower.settings import flat_run_config, read_node_config, read_run_config


def test_a_configuration_survives_the_way_through_flower() -> None:
    config = Config().replace(
        name="bherd-scaffold",
        alpha=0.3,
        clients=7,
        cohort=3,
        participation="shuffled",
        server="adam,lr=0.2",
        seed=5,
    )
    rules = Rules(min_clients=2, max_norm=5.0, out="somewhere")
    assert read_run_config(flat_run_config(config, rules)) == (config, rules)
    assert all(
        isinstance(value, str | int | float | bool) for value in flat_run_config(config, rules).values()
    )


@pytest.mark.parametrize(
    ("flat", "message"),
    [
        ({"methods.name": "fedavg"}, "unknown key 'methods.name'; did you mean 'method'"),
        ({"rounds": 3}, "unknown key 'rounds'"),
        ({"method.nme": "fedavg"}, r"\[method\] has no setting 'nme'; did you mean 'name'"),
        ({"federation.min-client": 3}, "no setting 'min_client'; did you mean 'min_clients'"),
        ({"federation.min-clients": "three"}, "min_clients cannot be 'three'"),
        ({"federation.min-clients": -1}, "min-clients is -1"),
        ({"federation.wire": "bytes"}, "sum or weights is expected"),
        ({"federation.round-timeout": 0}, "round-timeout is 0"),
        ({"federation.max-norm": -2.0}, "max-norm is -2"),
        ({"federation.start-timeout": True}, "start_timeout cannot be True"),
    ],
)
def test_wrong_run_configurations(flat: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_run_config(flat)


@pytest.mark.parametrize("values", [{}, {"partition-id": "0"}, {"partition-id": -1}])
def test_a_node_must_know_its_client(values: dict[str, object]) -> None:
    with pytest.raises(InputError, match="partition-id"):
        read_node_config(values)


def test_a_node_outside_the_federation() -> None:
    with pytest.raises(InputError, match="partition 3 of 3"):
        read_node_config({"partition-id": 3, "num-partitions": 3})
    node = read_node_config({"partition-id": 1, "state-dir": "here", "data-dir": "there"})
    assert (node.client, node.state_folder, node.data_folder) == (1, Path("here"), "there")


@pytest.mark.parametrize(("minimum", "asked", "enough"), [(0, 5, 3), (0, 1, 1), (2, 5, 2), (9, 5, 5)])
def test_how_many_are_enough(minimum: int, asked: int, enough: int) -> None:
    assert Rules(min_clients=minimum).enough(asked) == enough


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


def test_keys_are_good_and_private(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    before = os.umask(0)
    try:
        keys.make_keys(folder, 2, ["server.example.org", "192.0.2.7"])
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes(folder) == {0o600}
    certificate = x509.load_pem_x509_certificate((folder / keys.SERVER_CERTIFICATE).read_bytes())
    authority = x509.load_pem_x509_certificate((folder / keys.CA_CERTIFICATE).read_bytes())
    certificate.verify_directly_issued_by(authority)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["server.example.org"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["192.0.2.7"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / keys.SERVER_CERTIFICATE, folder / keys.SERVER_KEY)
    public = []
    for client in range(2):
        private = serialization.load_ssh_private_key((folder / keys.node_key(client)).read_bytes(), None)
        known = serialization.load_ssh_public_key((folder / f"client-{client}.pub").read_bytes())
        assert private.public_key() == known
        public.append(known)
    assert public[0] != public[1]
    assert not list(folder.glob("ca.key"))


def test_the_plan_is_found_again(tmp_path: Path) -> None:
    config = Config().replace(name="grab-fednova", rounds=7, clients=3)
    plan = FederationPlan(tmp_path / "run", config, Rules(min_clients=2), 4321, tls=True)
    plans.write_files(plan)
    key = (plan.keys / keys.SERVER_KEY).read_bytes()
    again = read_plan(tmp_path / "run", 9876)
    assert (again.config, again.rules, again.tls, again.port) == (config, Rules(min_clients=2), True, 9876)
    plans.write_files(again)
    assert (plan.keys / keys.SERVER_KEY).read_bytes() == key
    with pytest.raises(InputError, match="not the run directory of a federation"):
        read_plan(tmp_path, 1)


@pytest.mark.parametrize("tls", [False, True])
def test_every_process_stays_on_loopback(tls: bool, tmp_path: Path) -> None:
    plan = FederationPlan(tmp_path, Config(), Rules(), 4321, tls=tls)
    for command in (plans.superlink_command(plan), plans.supernode_command(plan, 0, 1234)):
        assert command[command.index("--host") + 1] == "127.0.0.1"
        assert ("--insecure" in command) is not tls
    assert plans.process_environment(plan.home)["FLWR_TELEMETRY_ENABLED"] == "0"


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["federation", "resume", str(tmp_path)]) == 2
    for flag, value in (("--round-timeout", "-1"), ("--port", "0"), ("--snapshot-every", "2")):
        assert main(["federation", "up", flag, value, "--out", str(tmp_path / "run")]) == 2
    assert main(["federation", "register", str(tmp_path)]) == 2
    assert main(["federation", "submit", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 6
    assert not (tmp_path / "run").exists()


SLEEPER = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are found by /proc")
def test_nothing_is_left_running(tmp_path: Path) -> None:
    """Not even a process that made a session of its own."""
    mark = new_mark()
    process = Process("sleeper", [sys.executable, "-c", SLEEPER], {MARK: mark}, tmp_path / "log")
    process.start()
    deadline = time.monotonic() + 20
    while len(marked(mark)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(marked(mark)) == 2
    os.kill(process.pid, signal.SIGKILL)
    stop_all([process], mark, seconds=1)
    assert marked(mark) == []
    assert process.exit_code == -9


def test_a_dead_node_is_started_again_but_not_for_ever(tmp_path: Path) -> None:
    said: list[str] = []
    node = SuperNode(
        Process("client 0", [sys.executable, "-c", "raise SystemExit(3)"], {}, tmp_path / "log"), said.append
    )
    now = 0.0
    node.process.start()

    def until_it_gives_up() -> None:
        nonlocal now
        for _ in range(100):
            process = node.process
            while process.exit_code is None:
                time.sleep(0.01)
            node.look(now)
            now += 31.0

    with pytest.raises(FederationError, match="client 0 died 9 times, the last time with exit code 3"):
        until_it_gives_up()
    assert said[0] == "client 0 has died (exit code 3); starting it again in 1 s"
    assert node.restarts == 8


def test_free_ports_are_free() -> None:
    ports = free_ports(3)
    assert len(set(ports)) == 3
    assert not any(listens(port) for port in ports)
