"""Server and clients of a federation run the same run, or say in which setting they differ."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from flwr.app import Message

from bherd import Collector, methods
from bherd.config import Config
from bherd.errors import InputError
from bherd.flower import FederationError, HerdStrategy, Rejection, Rules, codec, sum_reply
from bherd.flower.server_app import read_rejections, run_federation
from bherd.flower.settings import OtherSettingsError, check_identity, client_half
from bherd.session import prepare, resolve
from bherd.sources import identity_of_run
from bherd.tasks.flat import ravel
from tests.flower.grid import FIRST_NODE, MemoryGrid, by_strategy, federate, node, nodes
from tests.small_runs import read_lines
from tests.tiny import tiny_config

QUICK = Rules(start_timeout=2, round_timeout=2, min_clients=2)
OTHERS: list[tuple[dict[str, object], str]] = [
    ({"lr": 0.5}, r"train\.lr is 0\.5"),
    ({"batch_size": 40}, r"train\.batch_size is 40"),
    ({"epochs": 2.0}, r"train\.epochs is 2\.0"),
    ({"alpha": 0.2}, r"method\.selector is 'herding,alpha=0\.2'"),
    ({"name": "random-fedavg"}, r"method\.name is 'random-fedavg'"),
    ({"name": "grab-fedavg"}, r"method\.name is 'grab-fedavg'"),
    ({"step": "amplified"}, r"method\.step is 'amplified'"),
    ({"partition": "case1"}, r"task\.partition is 'case1'"),
    ({"dtype": "float32"}, r"run\.dtype is 'float32'"),
    ({"cohort": 0.5}, r"train\.cohort is 0\.5"),
    ({"participation": "shuffled"}, r"method\.participation is 'shuffled'"),
    ({"optimizer": "sgd,momentum=0.9"}, r"method\.optimizer is 'sgd,momentum=0\.9,.*'"),
    ({"correction": "dynamic"}, r"method\.name is 'bherd-feddyn'"),
    ({"transform": "top-k"}, r"method\.transform is 'top-k,share=0\.01'"),
    ({"aggregation": "median"}, r"method\.name is 'bherd-fedmedian'"),
    ({"server": "momentum,lr=1.0,beta=0.5"}, r"method\.name is 'bherd-fedavgm'"),
    ({"server": "sgd,lr=2.0"}, r"method\.server is 'sgd,lr=2\.0'"),
    ({"shipped": "running-mean"}, r"method\.shipped is 'running-mean,beta=0\.9'"),
    ({"order": "reshuffled"}, r"method\.order is 'reshuffled'"),
    ({"seed": 3}, r"run\.seed is 3"),
]


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return tiny_config(tmp_path, name="bherd-fedavg", rounds=3)


class ServerKilledError(Exception):
    """Stands for a server that dies."""


def stopped(config: Config, folder: Path) -> Path:
    """The directory of a federation whose server died in its second round."""

    def dying(message: Message) -> Message:
        if message.content.config_records and message.content["config"]["server-round"] == 2:
            raise ServerKilledError
        answer = home(message)
        assert isinstance(answer, Message)
        return answer

    handlers = nodes(config, folder)
    home = handlers[FIRST_NODE]
    with pytest.raises(ServerKilledError):
        run_federation(MemoryGrid({**handlers, FIRST_NODE: dying}), config, QUICK, folder / "run", poll=0.001)
    return folder / "run"


@pytest.mark.parametrize(("change", "said"), OTHERS)
def test_a_federation_is_not_resumed_with_other_settings(
    change: dict[str, object], said: str, config: Config, tmp_path: Path
) -> None:
    directory = stopped(config, tmp_path)
    before = read_lines(directory)
    other = config.replace(**change)
    with pytest.raises(InputError, match=f"holds a run with other settings .{said} here and"):
        run_federation(MemoryGrid(nodes(other, tmp_path)), other, QUICK, directory, poll=0.001)
    assert read_lines(directory) == before


def test_an_order_that_is_left_to_the_method_is_compared_too(config: Config, tmp_path: Path) -> None:
    """The clients of the second server would go by the method's habit."""
    directory = stopped(config.replace(order="reshuffled"), tmp_path)
    with pytest.raises(InputError, match=r"method\.order is 'fixed' here and 'reshuffled' there"):
        run_federation(MemoryGrid(nodes(config, tmp_path)), config, QUICK, directory, poll=0.001)


def test_a_federation_is_resumed_with_what_decides_no_result(config: Config, tmp_path: Path) -> None:
    directory = stopped(config, tmp_path)
    free = config.replace(workers=2, memory="1GB", data_dir=str(tmp_path), checkpoint_every=9)
    summary = run_federation(MemoryGrid(nodes(free, tmp_path)), free, QUICK, directory, poll=0.001)
    assert (summary["status"], summary["rounds_done"]) == ("complete", 3)


@pytest.mark.parametrize(("change", "said"), OTHERS)
def test_clients_of_another_run_are_refused_by_name(
    change: dict[str, object], said: str, config: Config, tmp_path: Path
) -> None:
    other = config.replace(**change)
    rejections: list[Rejection] = []
    with pytest.raises(FederationError, match=f"{said} on this client: must be the server's"):
        federate(config, MemoryGrid(nodes(other, tmp_path)), rules=QUICK, rejections=rejections)
    assert {rejection.kind for rejection in rejections} == {"refused"}


def test_one_client_of_another_run_does_not_count(config: Config, tmp_path: Path) -> None:
    handlers = nodes(config, tmp_path)
    handlers[FIRST_NODE - 1] = node(config.replace(alpha=0.2), 1, tmp_path)
    summary = run_federation(MemoryGrid(handlers), config, QUICK, tmp_path / "run", poll=0.001)
    assert summary["status"] == "complete"
    assert [line["clients"] for line in read_lines(tmp_path / "run")] == [2, 2, 2]
    rejections = read_rejections(tmp_path / "run")
    assert [(one.round, one.client, one.kind) for one in rejections] == [
        (1, 1, "refused"),
        (2, 1, "refused"),
        (3, 1, "refused"),
    ]
    assert (
        "method.selector is 'herding,alpha=0.2' on this client: must be the server's, 'herding,alpha=0.5'"
        in rejections[0].detail
    )


def test_clients_may_differ_in_what_decides_no_result(config: Config, tmp_path: Path) -> None:
    free = config.replace(workers=2, memory="1GB", data_dir=str(tmp_path))
    federate(config, MemoryGrid(nodes(free, tmp_path)), rules=QUICK)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"alpha": 0.2},
            r"selector is herding,alpha=0\.2 on this client: must be the server's, herding,alpha=0\.5",
        ),
        ({"name": "random-fedavg"}, r"selector is random,alpha=0\.5 on this client"),
        ({"name": "grab-fedavg"}, r"selector is grab on this client"),
        ({"order": "grab"}, r"order is grab,.* on this client: must be the server's, fixed"),
        ({"optimizer": "sgd,momentum=0.9"}, r"optimizer is sgd,momentum=0\.9.* on this client"),
        ({"correction": "proximal"}, r"correction is proximal,mu=0\.01 on this client: must be .* none"),
        ({"transform": "top-k"}, r"transform is top-k,share=0\.01 on this client: must be .* none"),
        ({"epochs": 2.0}, r"train\.epochs is 2\.0 on this client: must be the server's, 1\.0"),
        ({"clients": 4}, r"task\.clients is 4 on this client: must be the server's, 3"),
    ],
)
def test_a_strategy_tells_its_clients_what_it_knows(
    change: dict[str, object], said: str, config: Config, tmp_path: Path
) -> None:
    module = prepare(config).task.model.module
    strategy = HerdStrategy(
        module, methods.named("bherd-fedavg", alpha=0.5), clients=3, local_lr=0.05, rules=QUICK
    )
    with pytest.raises(FederationError, match=said):
        by_strategy(strategy, config, MemoryGrid(nodes(config.replace(**change), tmp_path)), rounds=1)


def test_a_loop_of_ones_own_sends_what_the_servers_method_keeps(config: Config) -> None:
    model = prepare(config.replace(model="mlp")).task.model.module
    MemoryGrid({})
    told = codec.Instruction(
        1, ravel(model), None, local_lr=0.05, method=client_half(methods.named("bherd-fedavg"))
    )
    message = Message(codec.encode_instruction(codec.layout_of(model), told), 1, "train")
    collector = Collector(model, torch.optim.SGD(model.parameters(), lr=0.05), alpha=0.2)
    with pytest.raises(
        InputError, match=r"selector is herding,alpha=0\.2 .*: must be the server's, herding,alpha=0\.5"
    ):
        sum_reply(message, collector, client=0, num_examples=1, loss=0.0)


@pytest.mark.parametrize(
    "told", ["no JSON", "3", '{"method": 3}', '{"method": {"mu": 1.0}}', '{"train": {"lr": "fast"}}']
)
def test_what_a_server_tells_may_be_anything(told: str, config: Config) -> None:
    with pytest.raises(OtherSettingsError, match="the server's settings cannot be used here"):
        check_identity(told, config)


def test_the_whole_identity_travels(config: Config, tmp_path: Path) -> None:
    grid = MemoryGrid(nodes(config, tmp_path))
    federate(config, grid, rules=QUICK)
    told: list[Any] = [
        message.content.config_records[codec.CONFIG][codec.IDENTITY]
        for message in grid.sent
        if codec.CONFIG in message.content.config_records
    ]
    assert told
    assert {json.dumps(json.loads(one)) for one in told} == {
        json.dumps(json.loads(identity_of_run(resolve(config))))
    }


def test_other_code_of_the_users_own_is_refused(config: Config) -> None:
    own = resolve(config.replace(model="tests.user_models:batch_norm"))
    told = json.loads(identity_of_run(own))
    check_identity(json.dumps(told), own)
    (name,) = told["sources"]
    told["sources"][name] = "0" * 64
    with pytest.raises(OtherSettingsError, match=f"{name} is other code on this client"):
        check_identity(json.dumps(told), own)
