"""What clients do wrong changes nothing but who counts: the rest equals a run without them."""

from contextlib import closing
from pathlib import Path

import pytest
import torch
from flwr.app import Message, MessageType

from bherd.config import Config
from bherd.flower import FederationError, Rejection, Rules
from bherd.flower.engine import FlowerEngine
from bherd.flower.store import OwnState, StateLostError
from bherd.loop.client import DivergedError
from bherd.loop.rounds import run_round
from bherd.loop.state import start_state
from bherd.session import prepare
from tests.flower.faults import FAULTS, Spoil, nan, raises, round_of, spoilt, with_sum
from tests.flower.grid import FIRST_NODE, MemoryGrid, federate, node, nodes, reference
from tests.tiny import tiny_config

QUICK = Rules(start_timeout=2, round_timeout=0.3, min_clients=2)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return tiny_config(tmp_path, name="bherd-scaffold", rounds=4, batch_size=5)


def with_fault(config: Config, folder: Path, spoil: Spoil, rounds: set[int]) -> MemoryGrid:
    """A federation whose client 1 goes wrong in some rounds."""
    handlers = nodes(config, folder)
    handlers[FIRST_NODE - 1] = spoilt(handlers[FIRST_NODE - 1], spoil, rounds)
    return MemoryGrid(handlers)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_costs_that_client_its_round(fault: str, config: Config, tmp_path: Path) -> None:
    kind, spoil = FAULTS[fault]
    grid = with_fault(config, tmp_path, spoil, {2, 3})
    rejections: list[Rejection] = []
    state = federate(config, grid, rules=QUICK, rejections=rejections)
    assert [(r.round, r.node, r.client, r.kind) for r in rejections] == [
        (2, FIRST_NODE - 1, 1, kind),
        (3, FIRST_NODE - 1, 1, kind),
    ]
    expected = reference(config, absent={(2, 1), (3, 1)})
    torch.testing.assert_close(state.params, expected.params, rtol=0, atol=1e-12)
    torch.testing.assert_close(dict(state.server), dict(expected.server), rtol=0, atol=1e-12)


def test_a_second_answer_does_not_count(config: Config, tmp_path: Path) -> None:
    def twice(message: Message, reply: Message) -> list[Message]:
        return [reply, with_sum(lambda values: 2 * values)(message, reply)]  # type: ignore[list-item]

    rejections: list[Rejection] = []
    state = federate(config, with_fault(config, tmp_path, twice, {2}), rules=QUICK, rejections=rejections)
    assert [(r.round, r.client, r.kind) for r in rejections] == [(2, 1, "duplicate")]
    torch.testing.assert_close(state.params, reference(config).params, rtol=0, atol=1e-12)


def test_a_late_answer_does_not_count(config: Config, tmp_path: Path) -> None:
    kept: list[tuple[Message, Message]] = []

    def hold_back(message: Message, reply: Message) -> None:
        kept.append((message, reply))

    grid = with_fault(config, tmp_path, hold_back, {2})
    punctual = grid.handlers[FIRST_NODE]

    def deliver_then_answer(message: Message) -> Message | list[Message] | None:
        """Client 0, asked before client 1: what client 1 held back in round 2 comes with round 3."""
        for asked, reply in kept:
            grid.replies[asked.metadata.message_id] = [reply]
        kept.clear()
        return punctual(message)

    grid.handlers[FIRST_NODE] = deliver_then_answer
    rejections: list[Rejection] = []
    state = federate(config, grid, rules=QUICK, rejections=rejections)
    assert [(r.round, r.client, r.kind) for r in rejections] == [(2, 1, "missing"), (3, 1, "late")]
    expected = reference(config, absent={(2, 1)})
    torch.testing.assert_close(state.params, expected.params, rtol=0, atol=1e-12)


def test_an_answer_to_no_question_is_stale(config: Config, tmp_path: Path) -> None:
    def extra(message: Message, reply: Message) -> list[Message]:
        stray = with_sum(lambda values: values)(message, reply)
        assert isinstance(stray, Message)
        stray.metadata.__dict__["_reply_to_message_id"] = "message-0"
        return [reply, stray]

    rejections: list[Rejection] = []
    state = federate(config, with_fault(config, tmp_path, extra, {2}), rules=QUICK, rejections=rejections)
    assert [(r.round, r.client, r.kind) for r in rejections] == [(2, 1, "stale")]
    torch.testing.assert_close(state.params, reference(config).params, rtol=0, atol=1e-12)


def test_a_bound_on_the_norm(config: Config, tmp_path: Path) -> None:
    rules = Rules(start_timeout=2, round_timeout=1, min_clients=2, max_norm=1e4)
    rejections: list[Rejection] = []
    grid = with_fault(config, tmp_path, with_sum(lambda values: 1e6 * values), {2})
    state = federate(config, grid, rules=rules, rejections=rejections)
    assert [(r.round, r.client, r.kind) for r in rejections] == [(2, 1, "norm")]
    expected = reference(config, absent={(2, 1)})
    torch.testing.assert_close(state.params, expected.params, rtol=0, atol=1e-12)


def test_too_few_answers_end_with_a_clear_message(config: Config, tmp_path: Path) -> None:
    rules = Rules(start_timeout=2, round_timeout=20, min_clients=3)
    with pytest.raises(FederationError, match=r"2 of 3 clients .* at least 3 .*client 1.*not-finite.*NaN"):
        federate(config, with_fault(config, tmp_path, with_sum(nan), {2}), rules=rules)


def test_a_passing_fault_is_asked_again_when_all_are_needed(config: Config, tmp_path: Path) -> None:
    tries: list[int] = []

    def once(message: Message, reply: Message) -> Message:
        tries.append(round_of(message))
        return raises(message, reply) if len(tries) == 1 else reply

    rules = Rules(start_timeout=2, round_timeout=20, min_clients=3)
    state = federate(config, with_fault(config, tmp_path, once, {2}), rules=rules)
    assert tries == [2, 2]
    torch.testing.assert_close(state.params, reference(config).params, rtol=0, atol=1e-12)


def test_too_few_nodes_end_with_a_clear_message(config: Config, tmp_path: Path) -> None:
    rules = Rules(start_timeout=0.2, round_timeout=0.2, min_clients=2)
    grid = MemoryGrid({FIRST_NODE: node(config, 0, tmp_path)})
    with pytest.raises(FederationError, match=r"only 1 of 3 clients are connected.*absent are \[1, 2\]"):
        federate(config, grid, rules=rules)


def test_divergence_everywhere_ends_the_run(tmp_path: Path) -> None:
    wild = tiny_config(tmp_path, rounds=3, lr=1e200, name="fedavg", model="mlp")
    session = prepare(wild)
    rejections: list[Rejection] = []
    grid = MemoryGrid(nodes(wild, tmp_path))
    engine = FlowerEngine(grid, session, QUICK, "test", rejections.append, 0.001)
    start = start_state(session.task, session.method)
    with closing(engine):
        with pytest.raises(DivergedError, match=r"diverged in the clients \[0, 1, 2\]"):
            engine.run_clients(start, [0, 1, 2])
        after, record = run_round(engine, session.task, session.method, session.plan, start)
    assert record.diverged
    assert after is start
    assert {r.kind for r in rejections} == {"diverged"}


def test_divergence_everywhere_after_the_deadline_is_divergence(tmp_path: Path) -> None:
    wild = tiny_config(tmp_path, rounds=3, lr=1e200, name="fedavg", model="mlp")
    session = prepare(wild)
    late = Rules(start_timeout=2, round_timeout=1e-6, min_clients=2)
    rejections: list[Rejection] = []
    grid = MemoryGrid(nodes(wild, tmp_path))
    engine = FlowerEngine(grid, session, late, "test", rejections.append, 0.001)
    with closing(engine), pytest.raises(DivergedError, match=r"diverged in the clients \[0, 1, 2\]"):
        engine.run_clients(start_state(session.task, session.method), [0, 1, 2])


def test_a_restarted_node_finds_its_state_under_a_new_id(config: Config, tmp_path: Path) -> None:
    grid = MemoryGrid(nodes(config, tmp_path))
    restarted = 77

    def move(message: Message) -> Message | list[Message] | None:
        """Client 2, asked last: the move of client 1 takes effect with round 4."""
        training = message.metadata.message_type == MessageType.TRAIN
        if training and round_of(message) == 3:
            del grid.handlers[FIRST_NODE - 1]
            grid.handlers[restarted] = node(config, 1, tmp_path)
        return home(message)

    home = grid.handlers[FIRST_NODE - 2]
    grid.handlers[FIRST_NODE - 2] = move
    state = federate(config, grid, rules=QUICK)
    assert any(m.metadata.dst_node_id == restarted for m in grid.sent)
    expected = reference(config)
    torch.testing.assert_close(state.params, expected.params, rtol=0, atol=1e-12)
    torch.testing.assert_close(dict(state.server), dict(expected.server), rtol=0, atol=1e-12)


def test_a_client_that_lost_its_state_is_not_let_in_with_zeros(config: Config, tmp_path: Path) -> None:
    def lose(message: Message, reply: Message) -> Message:
        del message
        (tmp_path / "nodes" / "test" / "client-1.safetensors").unlink()
        return reply

    rejections: list[Rejection] = []
    grid = with_fault(config, tmp_path, lose, {2})
    state = federate(config, grid, rules=QUICK, rejections=rejections)
    assert [(r.round, r.client, r.kind) for r in rejections] == [(3, 1, "refused"), (4, 1, "refused")]
    assert "state of round 2 is not in" in rejections[0].detail
    expected = reference(config, absent={(3, 1), (4, 1)})
    torch.testing.assert_close(dict(state.server), dict(expected.server), rtol=0, atol=1e-12)


@pytest.mark.parametrize("harm", ["cut", "flip"])
def test_a_damaged_state_file_is_noticed(harm: str, tmp_path: Path) -> None:
    store = OwnState(tmp_path, "name", 0)
    one, two = torch.full((50,), 1.0), torch.full((50,), 2.0)
    store.put(0, {}, 1, {"correction": {"c": one}})
    store.put(1, {"correction": {"c": one}}, 2, {"correction": {"c": two}, "order": {"learnt": one}})
    assert torch.equal(store.at(1)["correction"]["c"], one)
    assert torch.equal(store.at(2)["correction"]["c"], two)
    assert torch.equal(store.at(2)["order"]["learnt"], one)
    content = bytearray(store.path.read_bytes())
    if harm == "cut":
        content = content[:-20]
    else:
        content[-5] ^= 1
    store.path.write_bytes(content)
    with pytest.raises(StateLostError, match="damaged"):
        store.at(2)


def test_two_nodes_for_one_client_and_one_of_another_federation(config: Config, tmp_path: Path) -> None:
    handlers = nodes(config, tmp_path)
    handlers[2000] = node(config, 1, tmp_path)
    handlers[2001] = node(config.replace(clients=9), 8, tmp_path)
    grid = MemoryGrid(handlers)
    state = federate(config, grid, rules=QUICK)
    trained = {m.metadata.dst_node_id for m in grid.sent if m.metadata.message_type == MessageType.TRAIN}
    assert len(trained) == 3
    assert 2001 not in trained
    torch.testing.assert_close(state.params, reference(config).params, rtol=0, atol=1e-12)
