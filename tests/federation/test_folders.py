"""The folders for several machines: what is written, what is refused, and what a shell makes of it."""

import json
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from bherd.cli import main
from bherd.config import Config
from bherd.errors import InputError
from bherd.federation import keys
from bherd.federation.address import (
    check_bind,
    check_host,
    check_port,
    check_reachable,
    location,
    own_address,
)
from bherd.federation.plan import read_app
from bherd.federation.several import server_at, write_folders
from bherd.flower import Rules

HOSTILE = [
    "",
    "x;touch y",
    "x y",
    "$(touch y)",
    "`touch y`",
    "x\ntouch y",
    "x\n",
    'x"; touch "y',
    "x'y",
    "-x",
    "x-",
    ".x",
    "x..y",
    "x_y",
    "höst",
    "999.1.1.1",
    "1.2.3",
    "[192.0.2.1]",
    "[x]",
    "fe80::1%eth0;touch y",
    "https://x",
    "x:80",
    "a" * 64,
    ".".join(["a" * 60] * 5),
]


@pytest.mark.parametrize("host", HOSTILE)
def test_what_is_no_host_is_refused(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"^host = .*: must be a DNS name or an address\. Try "):
        check_host(host)
    out = tmp_path / "out"
    assert main(["federation", "config", f"--host={host}", "--clients", "2", "--out", str(out)]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not out.exists()


@pytest.mark.parametrize("port", [-1, 0, 65536, 99999])
def test_what_is_no_port_is_refused(port: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be in 1 to 65535"):
        check_port(port)
    arguments = ["federation", "config", "--host", "x", f"--port={port}", "--out", str(tmp_path / "out")]
    assert main(arguments) == 2


def test_hosts_and_where_they_are_found() -> None:
    assert [check_host(host) for host in ("a", "Server-1.example.org", "192.0.2.1", "xn--hst-sna.de")] == [
        "a",
        "Server-1.example.org",
        "192.0.2.1",
        "xn--hst-sna.de",
    ]
    assert check_host("[2001:db8::1]") == check_host("2001:db8::1") == "2001:db8::1"
    assert location("2001:db8::1", 80) == "[2001:db8::1]:80"
    assert location("192.0.2.1", 80) == "192.0.2.1:80"
    assert (check_port(1), check_port(65535)) == (1, 65535)
    assert [own_address(bind) for bind in ("0.0.0.0", "::", "192.0.2.1")] == ["127.0.0.1", "::1", "192.0.2.1"]
    for everywhere in ("0.0.0.0", "::", "[::]"):
        with pytest.raises(InputError, match="where the clients find the server"):
            check_reachable(everywhere)
    with pytest.raises(InputError, match="must be an address of the server"):
        check_bind("localhost")
    assert server_at("server.example.org", 8000).bind == "0.0.0.0"
    assert server_at("2001:db8::1", 8000).bind == "::"


WITNESS = """#!/usr/bin/env python3
import json, os, sys
variables = {key: value for key, value in os.environ.items() if key.startswith(("BHERD_", "FLWR_"))}
said = {"words": sys.argv, "variables": variables, "folder": os.getcwd()}
open(os.environ["WITNESS"], "w").write(json.dumps(said))
"""


def called_with(script: Path, tmp_path: Path, **variables: str) -> Any:
    """What a script's program is called with."""
    programs = tmp_path / "programs"
    programs.mkdir(exist_ok=True)
    for name in ("flower-superlink", "flower-supernode", "bherd"):
        (programs / name).write_text(WITNESS)
        (programs / name).chmod(0o755)
    told = tmp_path / "told.json"
    path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    subprocess.run(
        [str(script)], env={"PATH": path, "WITNESS": str(told), **variables}, check=True, timeout=60
    )
    said = json.loads(told.read_text())
    said["words"] = [Path(said["words"][0]).name, *said["words"][1:]]
    return said


@pytest.mark.parametrize("name", ["plain", "with two spaces", 'it\'s "quoted" $(touch y) `z` \\n;#'])
def test_scripts_run_from_any_folder(name: str, tmp_path: Path) -> None:
    out = tmp_path / name
    write_folders(out, Config().replace(clients=2), Rules(), server_at("server.example.org", 8000))
    for script in out.rglob("*.sh"):
        subprocess.run(["sh", "-n", str(script)], check=True)
        assert str(tmp_path) not in script.read_text()
    data = tmp_path / f"data {name}"
    data.mkdir()

    link = called_with(out / "server" / "start.sh", tmp_path, BHERD_DATA=str(data))
    assert link["words"][:5] == ["flower-superlink", "--host", "0.0.0.0", "--port", "8000"]
    assert link["folder"] == str(out / "server")
    assert link["variables"]["FLWR_HOME"] == str(out / "server" / "flower")
    assert link["variables"]["BHERD_DATA"] == str(data)

    node = called_with(out / "client-1" / "start.sh", tmp_path)
    options = dict(zip(node["words"][1::2], node["words"][2::2], strict=True))
    assert options["--superlink"] == "server.example.org:8000"
    assert (options["--host"], options["--port"]) == ("127.0.0.1", "9095")
    assert options["--node-config"] == "partition-id=1 num-partitions=2"
    assert node["variables"]["BHERD_STATE"] == str(out / "client-1" / "state")
    assert "BHERD_DATA" not in node["variables"]

    for file, action in (("register.sh", "register"), ("run.sh", "submit")):
        called = called_with(out / "server" / file, tmp_path)
        assert called["words"] == ["bherd", "federation", action, "."]
        assert called["folder"] == str(out / "server")


def test_an_address_of_version_6_has_its_brackets(tmp_path: Path) -> None:
    write_folders(tmp_path / "out", Config(), Rules(), server_at("[2001:db8::1]", 8000))
    link = called_with(tmp_path / "out" / "server" / "start.sh", tmp_path)
    assert link["words"][:3] == ["flower-superlink", "--host", "::"]
    node = called_with(tmp_path / "out" / "client-0" / "start.sh", tmp_path)
    assert "[2001:db8::1]:8000" in node["words"]
    certificate = x509.load_pem_x509_certificate(
        (tmp_path / "out" / "server" / "keys" / keys.SERVER_CERTIFICATE).read_bytes()
    )
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {"2001:db8::1", "::1", "127.0.0.1"} <= {str(a) for a in names.get_values_for_type(x509.IPAddress)}


def test_data_in_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    write_folders(tmp_path / "out", Config(), Rules(), server_at("x", 8000))
    with pytest.raises(subprocess.CalledProcessError):
        called_with(
            tmp_path / "out" / "client-0" / "start.sh", tmp_path, BHERD_DATA=str(tmp_path / "nowhere")
        )


def test_settings_with_quotes_survive_the_app(tmp_path: Path) -> None:
    """What a user writes in a setting is data in the app's file, whatever its characters."""
    dataset = 'it\'s "my" data\\$(touch y);\t[x] = 1.npz'
    config = Config().replace(clients=2, dataset=dataset, model="pkg.mod:make", data_dir="a b'c\"d")
    write_folders(tmp_path / "out", config, Rules(), server_at("x", 8000))
    found, rules = read_app(tmp_path / "out" / "server" / "app")
    assert found == config
    assert rules.out == "run"
    for script in (tmp_path / "out").rglob("*.sh"):
        assert "touch" not in script.read_text()


def test_the_folders_and_what_is_said_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = ["federation", "config", "--host", "server.example.org", "--bind", "192.0.2.7"]
    assert main([*arguments, "--clients", "2", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "whoever reaches port 8000 of server.example.org can run code on it and on every client" in said
    assert "the server too, needs mnist-mini" in said
    assert {p.name for p in out.iterdir()} == {"server", "client-0", "client-1"}
    private = [p for p in out.rglob("*") if p.is_file() and b"OPENSSH PRIVATE" in p.read_bytes()]
    assert {str(p.relative_to(out)) for p in private} == {"client-0/key", "client-1/key"}
    assert tomllib.loads((out / "server" / "server.toml").read_text()) == {"bind": "192.0.2.7", "port": 8000}
    assert "--host 192.0.2.7" in (out / "server" / "start.sh").read_text()
    with pytest.raises(InputError, match="not empty"):
        write_folders(out, Config(), Rules(), server_at("host", 1))


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ("--dataset nosuch", "no dataset called 'nosuch'"),
        ("--partition casse9", "unknown partition 'casse9'"),
        ("--model nomodel", "'nomodel'"),
        ("--model no.module:make", "cannot be imported"),
        ("--method nosuch", "nosuch"),
        ("--snapshot-every 5", "snapshot_every = 5"),
        ("--clients 5001", "5001 clients cannot share 5000 samples"),
        ("--device nowhere", "nowhere"),
        ("--dataset mnist --partition casse9", "unknown partition 'casse9'"),
        ("--dataset mnist --model nomodel", "'nomodel'"),
        ("--dataset elsewhere.npz --model no.module:make", "cannot be imported"),
    ],
)
def test_an_experiment_that_cannot_run_is_refused_before_anything_is_written(
    flags: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["federation", "config", "--host", "x", *shlex.split(flags), "--out", str(out)]) == 2
    said = capsys.readouterr()
    assert complaint in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert not out.exists()


def test_data_that_is_elsewhere_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["federation", "config", "--host", "x", "--dataset", "/data/patients.npz", "--model", "mlp"]
    assert main([*arguments, "--clients", "2", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "/data/patients.npz is not on this machine, so only names were checked" in said
