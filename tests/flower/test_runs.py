"""A federation writes the same run directory as a local run, and is continued from it."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from flwr.app import Message
from safetensors.torch import load_file

from bherd.config import Config
from bherd.errors import InputError
from bherd.flower import FederationError, Rules
from bherd.flower.server_app import federation_name, read_rejections, run_federation
from bherd.runs.life import resume, run
from bherd.session import prepare
from bherd.tasks.flat import unravel
from tests.flower.faults import nan, round_of, spoilt, with_sum
from tests.flower.grid import FIRST_NODE, MemoryGrid, nodes, reference
from tests.small_runs import read_lines
from tests.tiny import tiny_config

QUICK = Rules(start_timeout=2, round_timeout=2, min_clients=2)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return tiny_config(tmp_path, name="bherd-scaffold", rounds=4)


def without_seconds(directory: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in line.items() if k != "seconds"} for line in read_lines(directory)]


def test_the_run_directory_is_that_of_a_local_run(config: Config, tmp_path: Path) -> None:
    local, networked = tmp_path / "local", tmp_path / "networked"
    run(config.replace(checkpoint_every=1), local)
    summary = run_federation(MemoryGrid(nodes(config, tmp_path)), config, QUICK, networked, poll=0.001)
    assert summary["status"] == "complete"
    assert {p.name for p in networked.iterdir()} == {p.name for p in local.iterdir()} | {"federation"}
    assert (networked / "config.toml").read_bytes() == (local / "config.toml").read_bytes()
    assert without_seconds(networked) == without_seconds(local)
    assert pq.read_table(networked / "ledger.parquet").equals(pq.read_table(local / "ledger.parquet"))
    columns = ["round", "client", "loss", "steps", "kept", "distance", "random_distance"]
    assert pq.read_table(networked / "clients.parquet", columns=columns).equals(
        pq.read_table(local / "clients.parquet", columns=columns)
    )
    here, there = load_file(networked / "model.safetensors"), load_file(local / "model.safetensors")
    assert all(torch.equal(here[name], there[name]) for name in there)


class ServerKilledError(Exception):
    """Stands for a server that dies."""


@pytest.mark.parametrize("moment", ["before the answers", "after some answers"])
def test_a_run_whose_server_died_is_continued(moment: str, config: Config, tmp_path: Path) -> None:
    directory, dead = tmp_path / "run", 0 if moment == "before the answers" else 2
    handlers = nodes(config, tmp_path)
    home = handlers[FIRST_NODE - dead]

    def dying(message: Message) -> Message | list[Message] | None:
        if message.content.config_records and round_of(message) == 3:
            raise ServerKilledError
        return home(message)

    broken = MemoryGrid({**handlers, FIRST_NODE - dead: dying})
    with pytest.raises(ServerKilledError):
        run_federation(broken, config, QUICK, directory, poll=0.001)
    assert len(read_lines(directory)) == 2
    with pytest.raises(InputError, match="bherd federation resume"):
        resume(directory)
    summary = run_federation(MemoryGrid(nodes(config, tmp_path)), config, QUICK, directory, poll=0.001)
    assert (summary["status"], summary["rounds_done"]) == ("complete", 4)
    task = prepare(config).task
    expected = unravel(task.model.module, reference(config).params)
    stored = load_file(directory / "model.safetensors")
    for name, values in expected.items():
        torch.testing.assert_close(stored[name], values, rtol=0, atol=1e-12)


def test_rejections_are_in_the_run_directory(config: Config, tmp_path: Path) -> None:
    handlers = nodes(config, tmp_path)
    handlers[FIRST_NODE - 1] = spoilt(handlers[FIRST_NODE - 1], with_sum(nan), {2})
    run_federation(MemoryGrid(handlers), config, QUICK, tmp_path / "run", poll=0.001)
    (rejection,) = read_rejections(tmp_path / "run")
    assert rejection[:4] == (2, FIRST_NODE - 1, 1, "not-finite")
    assert [line["clients"] for line in read_lines(tmp_path / "run")] == [3, 2, 3, 3]


def test_a_failed_start_can_be_repeated(config: Config, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    hopeless = Rules(start_timeout=0.1, round_timeout=0.1, min_clients=2)
    with pytest.raises(FederationError):
        run_federation(MemoryGrid({}), config, hopeless, directory, poll=0.001)
    name = federation_name(directory)
    assert [p.name for p in directory.iterdir()] == ["federation"]
    summary = run_federation(MemoryGrid(nodes(config, tmp_path)), config, QUICK, directory, poll=0.001)
    assert summary["status"] == "complete"
    assert federation_name(directory) == name


def test_other_settings_do_not_go_on_with_a_run(config: Config, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    run_federation(MemoryGrid(nodes(config, tmp_path)), config, QUICK, directory, poll=0.001)
    before = (directory / "summary.json").read_bytes()
    other = config.replace(name="fedavg")
    with pytest.raises(InputError, match=r"method.name is 'fedavg' here and 'bherd-scaffold' there"):
        run_federation(MemoryGrid(nodes(other, tmp_path)), other, QUICK, directory, poll=0.001)
    assert (directory / "summary.json").read_bytes() == before


def test_a_damaged_name_is_one_clear_error(tmp_path: Path) -> None:
    federation_name(tmp_path)
    path = tmp_path / "federation" / "federation.json"
    assert json.loads(path.read_text()) == {"name": federation_name(tmp_path)}
    path.write_text("{")
    with pytest.raises(InputError, match=r"federation\.json is damaged"):
        federation_name(tmp_path)


def test_the_server_refuses_what_it_cannot_do(config: Config, tmp_path: Path) -> None:
    grid = MemoryGrid(nodes(config, tmp_path))
    with pytest.raises(InputError, match="stock strategy"):
        run_federation(grid, config, Rules(wire="weights"), tmp_path / "run")
    with pytest.raises(InputError, match="snapshot-every"):
        run_federation(grid, config.replace(snapshot_every=2), QUICK, tmp_path / "run")
    assert not (tmp_path / "run").exists()
