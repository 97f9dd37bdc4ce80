"""The server's side of a round: ask the clients, check the replies, ask again where too few count."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from logging import WARNING

import torch
from flwr.app import Array, Message, MessageType
from flwr.common.logger import log

from bherd.flower import codec
from bherd.flower.codec import Instruction, Layout
from bherd.flower.messenger import Messenger
from bherd.flower.nodes import FederationError, Nodes
from bherd.flower.replies import (
    DIVERGED,
    RECEIPT,
    Checked,
    ClientNode,
    Expected,
    Rejection,
    check_replies,
)
from bherd.flower.settings import Rules, client_half
from bherd.loop.client import DivergedError, Outcome
from bherd.loop.state import State
from bherd.method import Method
from bherd.parts.part import Tensors
from bherd.parts.records import Done
from bherd.parts.schedule import number_at

_LONGEST_PAUSE = 10.0
_ATTEMPTS = 5


@dataclass(frozen=True)
class FederationSetup:
    """What stays the same over a federation's rounds."""

    name: str
    """Names the federation to its clients, across restarts of the server."""
    method: Method
    layout: Layout
    clients: int
    local_lr: float
    """The learning rate in whose units the server takes the clients' sums."""
    rules: Rules
    identity: str = ""
    """The settings that decide the run, as JSON: all of them, or those that the server knows."""
    weights: dict[int, float] | None = None
    """The clients' numbers of samples, where the server knows them."""
    rest: dict[str, Array] | None = None
    """Arrays of the model that training does not touch."""

    @cached_property
    def message(self) -> Tensors:
        """What a client's message of the correction looks like: that of a client which found nothing."""
        correction, zeros = self.method.correction, torch.zeros(self.layout.size, dtype=self.layout.dtype)
        own, shared = correction.client_init(zeros), correction.server_init(zeros)
        return correction.client_end(own, shared, Done(zeros, 1, self.local_lr))[1]


class Federation:
    """Runs the clients of a round through a Flower grid."""

    def __init__(
        self, messenger: Messenger, setup: FederationSetup, on_rejection: Callable[[Rejection], None]
    ) -> None:
        self.messenger, self.setup = messenger, setup
        self.nodes = Nodes(messenger, setup.clients)
        self._on_rejection = on_rejection
        self._started = False

    def nodes_of(self, clients: Sequence[int]) -> list[ClientNode]:
        """The nodes of the clients of a round. Before the first round all clients are waited for."""
        rules, clock = self.setup.rules, self.messenger.clock
        if not self._started:
            total = self.setup.clients
            deadline = clock() + rules.start_timeout
            self.nodes.gather(range(total), total, rules.enough(total), deadline)
            self._started = True
        else:
            self.nodes.refresh(clock() + rules.round_timeout)
        return self.nodes.of(clients)

    def messages(
        self, state: State, nodes: Sequence[ClientNode], deadline: float
    ) -> list[tuple[ClientNode, Message]]:
        """The messages of the round after `state` to these clients."""
        setup = self.setup
        seconds = max(1.0, deadline - self.messenger.clock())
        messages = []
        for node in nodes:
            receipt = state.clients.get(node.client, {}).get(RECEIPT)
            instruction = Instruction(
                state.round + 1,
                state.params,
                state.buffers,
                state.server.get("correction", {}),
                0 if receipt is None else int(receipt["round"]),
                setup.name,
                number_at(setup.local_lr, state.round + 1),
                setup.identity,
                client_half(setup.method.at(state.round + 1)),
            )
            content = codec.encode_instruction(setup.layout, instruction, setup.rest)
            messages.append((node, Message(content, node.node_id, MessageType.TRAIN, ttl=seconds)))
        return messages

    def check(self, state: State, asked: dict[str, ClientNode], replies: Sequence[Message]) -> Checked:
        """Check replies; every rejection is logged and noted, and a node that failed is forgotten."""
        setup, round = self.setup, state.round + 1
        expected = Expected(
            round,
            setup.layout,
            setup.message,
            setup.method.selector.weighted,
            setup.rules.max_norm or None,
            setup.weights,
        )
        checked = check_replies(expected, asked, replies)
        answered = {reply.metadata.reply_to_message_id for reply in replies}
        silent = [
            Rejection(round, *node, "missing", "no answer in time")
            for number, node in asked.items()
            if number not in answered
        ]
        late = [
            Rejection(round, *node, "late", "the answer came after its round was over")
            for node, _ in self.messenger.late()
        ]
        rejections = [*checked.rejections, *silent, *late]
        for rejection in rejections:
            log(WARNING, "round %d: node %d, client %d does not count (%s): %s", *rejection)
            self._on_rejection(rejection)
            if rejection.kind in ("error", "missing"):
                self.nodes.forget(rejection.node)
        return Checked(checked.outcomes, rejections)

    def complete(self, state: State, clients: Sequence[int], accepted: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes of a round, asking those whose answer is missing until enough count.

        Raises `FederationError` when the round's time is over, and `DivergedError` where training
        diverges in so many clients that asking again cannot help.
        """
        rules, clock = self.setup.rules, self.messenger.clock
        outcomes = {outcome.report.client: outcome for outcome in accepted}
        enough = rules.enough(len(clients))
        deadline = clock() + rules.round_timeout
        diverged: set[int] = set()
        attempts, pause = 0, self.messenger.poll
        while len(outcomes) < enough:
            waiting = [c for c in clients if c not in outcomes and c not in diverged]
            needed = min(len(waiting), enough - len(outcomes))
            nodes = self.nodes_of(waiting) or self.nodes.gather(waiting, needed, needed, deadline)
            asked, replies = self.messenger.exchange(self.messages(state, nodes, deadline), deadline)
            checked = self.check(state, asked, replies)
            outcomes.update({outcome.report.client: outcome for outcome in checked.outcomes})
            diverged |= {r.client for r in checked.rejections if r.kind == DIVERGED}
            attempts += 1
            if len(outcomes) >= enough:
                break
            if len(clients) - len(diverged) < enough:
                raise DivergedError(f"the training diverged in the clients {sorted(diverged)}")
            if clock() >= deadline or attempts == _ATTEMPTS:
                raise FederationError(
                    f"round {state.round + 1}: {len(outcomes)} of {len(clients)} clients gave an answer that "
                    f"counts, but at least {enough} are needed, after {attempts} attempts; "
                    f"{_why(checked.rejections)}"
                )
            time.sleep(min(pause, max(0.0, deadline - clock())))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return [outcomes[client] for client in sorted(outcomes)]


def _why(rejections: Sequence[Rejection]) -> str:
    if not rejections:
        return "the others are not connected: start their SuperNodes"
    last = rejections[-1]
    return f"the last one, client {last.client}, did not count ({last.kind}): {last.detail}"
