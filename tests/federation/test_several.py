"""The page of several machines, carried out: the scripts as they are written, on addresses of loopback."""

import http.client
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bherd.federation.processes import free_ports
from tests.places import ROOT
from tests.small_runs import read_lines
from tests.tiny import tiny_config

pytestmark = [pytest.mark.deployment, pytest.mark.slow]
BHERD = str(Path(sys.executable).with_name("bherd"))


class Site:
    """A server's folder and its clients', as `bherd federation config` writes them, and what runs there."""

    def __init__(self, folder: Path, *flags: str, bind: str = "127.0.0.1") -> None:
        self.folder, self.bind, self.port = folder, bind, free_ports(1)[0]
        self.log = folder / "log"
        self.out = folder / "out"
        self._running: list[subprocess.Popen[bytes]] = []
        command = [BHERD, "federation", "config", "--host", bind, "--bind", bind, "--port", str(self.port)]
        subprocess.run(
            [*command, "--out", str(self.out), *flags],
            env=self.environment(PYTHONPATH=str(folder / "models")),
            check=True,
            capture_output=True,
            timeout=60,
        )

    def environment(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("FLWR_", "BHERD_"))}
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        source = os.environ.get("PYTHONPATH", "")
        more["PYTHONPATH"] = os.pathsep.join(filter(None, [source, more.get("PYTHONPATH", "")]))
        return {**kept, "PATH": path, **more}

    def start(self, script: str) -> None:
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [str(self.out / script)],
                env=self.environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running.append(process)

    def call(self, script: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.out / script)],
            env=self.environment(**more),
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def start_server(self) -> None:
        self.start("server/start.sh")
        deadline = time.monotonic() + 90
        while (registered := self.call("server/register.sh")).returncode != 0:
            assert time.monotonic() < deadline, registered.stdout + registered.stderr + self.log.read_text()
            time.sleep(0.5)
        assert "client-0 is let in" in registered.stdout + registered.stderr

    def ask(self, path: str, body: bytes = b"", source: str = "127.0.0.1") -> int:
        """The status of a request that shows no key, from another address than the server's."""
        context = ssl.create_default_context(cafile=self.out / "client-0" / "ca.pem")
        connection = http.client.HTTPSConnection(
            self.bind, self.port, timeout=30, context=context, source_address=(source, 0)
        )
        try:
            connection.request("POST", path, body, {"content-type": "application/protobuf"})
            return connection.getresponse().status
        finally:
            connection.close()

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("FLWR_HOME", "").startswith(str(self.out)):
                    found.append(process)
            except (psutil.AccessDenied, psutil.NoSuchProcess):
                continue
        return found

    def stop(self) -> None:
        for process in self._running:
            process.send_signal(signal.SIGTERM)
        for process in self._running:
            try:
                process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                process.kill()
        for left in self.processes():
            left.kill()


@pytest.fixture
def sites() -> Iterator[list[Site]]:
    made: list[Site] = []
    yield made
    for site in made:
        site.stop()


def listening(site: Site) -> set[tuple[str, int]]:
    """Where the processes of a site listen."""
    return {
        (connection.laddr.ip, connection.laddr.port)
        for process in site.processes()
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


def test_the_steps_of_the_page(sites: list[Site], tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    flags = ["--clients", "2", "--rounds", "2", "--dataset", config.task.dataset, "--model", "svm"]
    site = Site(tmp_path, *flags, "--batch-size", "10", "--method", "bherd-fedavg")
    sites.append(site)
    site.start_server()
    again = site.call("server/register.sh")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "client-0 was let in before" in again.stdout + again.stderr
    for client in range(2):
        site.start(f"client-{client}/start.sh")
    done = site.call("server/run.sh")
    assert done.returncode == 0, done.stdout + done.stderr + site.log.read_text()[-3000:]
    assert "complete: 2 rounds" in done.stdout
    assert len(read_lines(site.out / "server" / "run")) == 2
    assert listening(site) == {("127.0.0.1", site.port), ("127.0.0.1", 9094), ("127.0.0.1", 9095)}
    assert not (site.out / "server" / "keys" / "client-0").exists()
    finished = site.call("server/run.sh")
    assert finished.returncode == 0
    assert "complete: 2 rounds" in finished.stdout


def test_a_run_that_fails_says_so_with_its_exit_code(sites: list[Site], tmp_path: Path) -> None:
    config = tiny_config(tmp_path)
    models = tmp_path / "models"
    models.mkdir()
    shutil.copy(ROOT / "tests" / "user_models.py", models)
    flags = ["--clients", "2", "--rounds", "2", "--dataset", config.task.dataset]
    site = Site(tmp_path, *flags, "--model", "user_models:batch_norm")
    sites.append(site)
    site.start_server()
    unprepared = site.call("server/run.sh")
    assert unprepared.returncode == 2
    assert "cannot be imported" in unprepared.stderr
    assert not (site.out / "server" / "run").exists(), "nothing was submitted"
    # this terminal finds the model, the server's does not
    failed = site.call("server/run.sh", PYTHONPATH=str(models))
    assert failed.returncode == 2, failed.stdout + failed.stderr
    assert "cannot be imported" in failed.stderr


def test_what_is_open_is_what_the_page_says(sites: list[Site], tmp_path: Path) -> None:
    site = Site(tmp_path, "--clients", "1", "--partition", "case1", bind="127.0.0.2")
    sites.append(site)
    site.start_server()
    page = (ROOT / "docs" / "deployment.md").read_text()
    for api, path, status in (
        ("Fleet", "/v1/fleet/pull-messages", 401),
        ("Control", "/v1/control/list-nodes", 200),
        ("Control", "/v1/control/list-runs", 200),
        ("Runtime", "/v1/runtime/acquire-task", 200),
    ):
        assert site.ask(path, source="127.0.0.3") == status, path
        asked = "a registered key" if status == 401 else "nothing"
        assert f"| {api} | {asked} |" in page
    assert listening(site) == {("127.0.0.2", site.port)}
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection("127.0.0.1", site.port, timeout=5).connect()
