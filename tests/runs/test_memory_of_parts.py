"""What parts remember in a run directory: stopped and resumed to the last bit, shipped, and what is sent."""

import json
import math
from contextlib import closing
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import bherd
from bherd.config import Config
from bherd.loop.rounds import run_rounds
from bherd.loop.server import shipped_params
from bherd.loop.state import start_state
from bherd.runs import directory as names
from bherd.runs.checkpoint import load_checkpoint
from bherd.runs.life import resume, run
from bherd.runs.read import read_run
from bherd.session import prepare
from tests.small_runs import contents, read_lines, small_config, stopped_run
from tests.tiny import memory_of

STATEFUL = {
    "shuffled clients": "fedavg,participation=shuffled",
    "balanced clients": "fedavg,participation=balanced",
    "grab order": "fedavg,order=grab",
    "herded order": "fedavg,order=herded",
    "control variates": "scaffold",
    "dynamic": "feddyn,mu=0.1",
    "top-k": "fedavg,transform=top-k,transform.share=0.3",
    "momentum": "fedavgm",
    "adam": "fedadam",
    "yogi": "fedyogi",
    "adagrad": "fedadagrad",
    "running mean": "fedavg,shipped=running-mean",
    "mean of last": "fedavg,shipped=mean-of-last,shipped.k=2",
    "schedules": "bherd-fedavg,alpha=linear:0.3:1.0:4,server_lr=step:1.0:0.5:2",
    "several": "bherd-feddyn,mu=0.1,order=grab,server=adam,participation=shuffled,shipped=running-mean",
}
MEMORY = {
    "shuffled clients": {"server/participation/rest"},
    "grab order": {"clients/order/order", "clients/order/mean", "clients/order/learnt"},
    "herded order": {"clients/order/order", "clients/order/learnt"},
    "control variates": {"server/correction/c", "clients/correction/c"},
    "dynamic": {"server/correction/h", "clients/correction/h"},
    "top-k": {"clients/transform/error"},
    "momentum": {"server/server/v"},
    "adam": {"server/server/m", "server/server/v", "server/server/rounds"},
    "running mean": {"server/shipped/m", "server/shipped/u"},
    "mean of last": {"server/shipped/models"},
    "schedules": set(),
}


def config_of(folder: Path, name: str) -> Config:
    """Five rounds of three of four clients; a checkpoint after each."""
    return small_config(folder, STATEFUL[name]).replace(rounds=5, cohort=3)


@pytest.mark.parametrize("name", STATEFUL)
def test_a_run_that_was_stopped_ends_as_one_that_was_not(name: str, tmp_path: Path) -> None:
    """Metrics, selections, model and the last checkpoint's memory, to the last bit."""
    config = config_of(tmp_path, name)
    run(config, tmp_path / "whole")
    stopped = stopped_run(tmp_path, config, after=2)
    memory = memory_of(load_checkpoint(stopped / names.CHECKPOINT).state)
    found = {key for key in memory if not key.endswith((".ids", ".shapes"))}
    if name in MEMORY:
        assert found == MEMORY[name]
    resume(stopped)
    assert contents(stopped) == contents(tmp_path / "whole")


@pytest.mark.parametrize("name", ["dynamic", "top-k", "grab order"])
def test_the_clients_memory_in_a_checkpoint_is_each_clients_own(name: str, tmp_path: Path) -> None:
    """Only of those who took part so far; and it decides what comes next."""
    config = config_of(tmp_path, name).replace(cohort=2)
    stopped = stopped_run(tmp_path, config, after=1)
    state = load_checkpoint(stopped / names.CHECKPOINT).state
    met = set(read_run(stopped).clients().column("client").to_pylist())
    assert set(state.clients) == met
    assert len(met) == 2
    one, other = (state.clients[client] for client in sorted(met))
    for axis, tensors in one.items():
        assert tensors.keys() == other[axis].keys()
    different = [
        key
        for axis, tensors in one.items()
        for key, tensor in tensors.items()
        if not torch.equal(tensor, other[axis][key])
    ]
    assert different
    session = prepare(config)
    ends = []
    for start in (state, state._replace(clients={})):
        with closing(session.engine()) as engine:
            *_, (end, _) = run_rounds(engine, session.task, session.method, session.plan, start)
            ends.append(end.params)
    assert not torch.equal(*ends)


@pytest.mark.parametrize("part", ["running-mean", "mean-of-last,k=3"])
def test_the_shipped_model_is_evaluated_and_saved_with_the_last_beside_it(part: str, tmp_path: Path) -> None:
    plain = small_config(tmp_path, "bherd-fedavg").replace(rounds=5, lr=0.2, batch_size=5)
    shipping = plain.replace(shipped=part)
    run(plain, tmp_path / "plain")
    run(shipping, tmp_path / "shipping")
    usual, lines = read_lines(tmp_path / "plain"), read_lines(tmp_path / "shipping")
    measures = ("train_loss", "test_loss", "test_accuracy")
    # Training never sees what is shipped: the last models are those of the plain run.
    assert [[line[f"last_{name}"] for name in measures] for line in lines] == [
        [line[name] for name in measures] for line in usual
    ]
    assert not any(key.startswith("last_") for line in usual for key in line)
    # After one round both are the same model; later they are not.
    assert lines[0]["test_loss"] == pytest.approx(usual[0]["test_loss"], rel=1e-6)
    assert abs(lines[-1]["test_loss"] - usual[-1]["test_loss"]) > 1e-6
    raw = [json.loads(line) for line in (tmp_path / "shipping" / names.METRICS).read_text().splitlines()]
    assert lines == raw
    last = read_run(tmp_path / "shipping").lines[-1].last
    assert last is not None
    assert last.test_accuracy == raw[-1]["last_test_accuracy"]
    summary = json.loads((tmp_path / "shipping" / names.SUMMARY).read_text())
    assert summary["final"]["last_test_loss"] == usual[-1]["test_loss"]
    # The file holds the model that was evaluated.
    result = bherd.simulate(shipping)
    model = load_file(tmp_path / "shipping" / names.MODEL)
    assert all(torch.equal(model[name], value) for name, value in result.model.items())
    with_last = load_file(tmp_path / "plain" / names.MODEL)
    assert not all(torch.equal(model[name], with_last[name]) for name in model)


def test_before_the_first_round_every_shipped_model_is_the_start(tmp_path: Path) -> None:
    for part in ("last", "running-mean", "mean-of-last"):
        session = prepare(small_config(tmp_path, "fedavg").replace(shipped=part))
        state = start_state(session.task, session.method)
        assert torch.equal(shipped_params(session.method, state), state.params)


def uplink(folder: Path, method: str, **changes: object) -> list[int]:
    """The bytes that all clients sent in each round: 11 parameters, float32."""
    result = bherd.simulate(small_config(folder, method).replace(rounds=2, batch_size=5, **changes))
    return [line["uplink_bytes"] for line in result.metrics]


@pytest.mark.parametrize(
    ("method", "bits"),
    [
        ("fedavg", 11 * 32),
        ("bherd-fedavg", 11 * 32),
        ("fedavg,transform=clip", 11 * 32),
        ("fedavg,transform=quantize", 11 * 8 + 32),  # one byte each and the largest
        ("fedavg,transform=quantize,transform.bits=3", 11 * 3 + 32),
        ("fedavg,transform=top-k,transform.share=0.3", 3 * (32 + 32)),  # 3.3 of 11, with their places
        ("fedavg,transform=top-k,transform.share=0.01", 32 + 32),
        ("scaffold", 2 * 11 * 32),  # and the change of the control variate
        ("feddyn", 2 * 11 * 32),
        ("scaffold,transform=quantize", 11 * 8 + 32 + 11 * 32),  # the correction's message is not quantized
    ],
)
def test_what_is_sent_is_counted(method: str, bits: int, tmp_path: Path) -> None:
    """Whole bytes for each client."""
    assert uplink(tmp_path, method) == [4 * math.ceil(bits / 8)] * 2
    assert uplink(tmp_path, method, cohort=3) == [3 * math.ceil(bits / 8)] * 2


def test_double_precision_is_twice_as_large(tmp_path: Path) -> None:
    assert uplink(tmp_path, "fedavg", dtype="float64") == [4 * 11 * 8] * 2
    quantized = "fedavg,transform=quantize"
    assert uplink(tmp_path, quantized, dtype="float64") == uplink(tmp_path, quantized)
