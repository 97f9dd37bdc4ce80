"""Which node runs which client, and waiting for nodes until a deadline."""

import time
from collections.abc import Sequence
from logging import INFO, WARNING

from flwr.app import Message, MessageType, RecordDict
from flwr.common.logger import log

from bherd.errors import BherdError
from bherd.flower.messenger import Messenger
from bherd.flower.replies import ClientNode, named_client


class FederationError(BherdError):
    """The federation cannot go on: too few clients, for too long."""


class Nodes:
    """The connected nodes. Each is asked once which client it runs; the first with a client keeps it."""

    def __init__(self, messenger: Messenger, clients: int, question_seconds: float = 60.0) -> None:
        self.messenger, self.clients = messenger, clients
        self.question_seconds = question_seconds
        self._client_of: dict[int, int] = {}

    def refresh(self, deadline: float) -> None:
        """Forget the nodes that have gone and ask the new ones which client they run."""
        present = set(self.messenger.grid.get_node_ids())
        self._client_of = {number: client for number, client in self._client_of.items() if number in present}
        unknown_nodes = sorted(present - set(self._client_of))
        if unknown_nodes:
            self._ask(unknown_nodes, min(deadline, self.messenger.clock() + self.question_seconds))

    def _ask(self, node_ids: Sequence[int], deadline: float) -> None:
        seconds = max(1.0, deadline - self.messenger.clock())
        messages = [
            (ClientNode(number, -1), Message(RecordDict(), number, MessageType.QUERY, ttl=seconds))
            for number in node_ids
        ]
        asked, replies = self.messenger.exchange(messages, deadline)
        for reply in replies:
            node = asked.get(reply.metadata.reply_to_message_id)
            if node is None:
                continue
            client = named_client(reply)
            if client is None or not 0 <= client < self.clients:
                why = reply.error.reason if reply.has_error() else f"it says that it is client {client}"
                log(WARNING, "node %d does not take part: %s", node.node_id, why)
                continue
            if client in self._client_of.values():
                log(WARNING, "node %d waits: another node answers for client %d", node.node_id, client)
            self._client_of[node.node_id] = client

    def forget(self, node_id: int) -> None:
        """Forget a node that failed; it is asked again if it is still there."""
        self._client_of.pop(node_id, None)

    def of(self, clients: Sequence[int]) -> list[ClientNode]:
        """The nodes of these clients, as far as they are present, by client."""
        first: dict[int, int] = {}
        for node_id, client in self._client_of.items():
            first.setdefault(client, node_id)
        return [ClientNode(first[client], client) for client in clients if client in first]

    def gather(self, clients: Sequence[int], wanted: int, enough: int, deadline: float) -> list[ClientNode]:
        """Wait until `wanted` of these clients are there, or the deadline is past and `enough` are.

        Raises `FederationError` where not even so many have come.
        """
        said = float("-inf")
        while True:
            self.refresh(deadline)
            nodes = self.of(clients)
            now = self.messenger.clock()
            if len(nodes) >= wanted or (now >= deadline and len(nodes) >= enough):
                return nodes
            if now >= deadline:
                absent = sorted(set(clients) - {node.client for node in nodes})
                raise FederationError(
                    f"only {len(nodes)} of {len(clients)} clients are connected, but at least {enough} are "
                    f"needed, and the time to wait is over; absent are {absent}: start their SuperNodes"
                )
            if now >= said + 10:
                said = now
                seconds = int(deadline - now)
                log(INFO, "%d of %d clients connected; waiting up to %d s", len(nodes), len(clients), seconds)
            time.sleep(self.messenger.poll)
