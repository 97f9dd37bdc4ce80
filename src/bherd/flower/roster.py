"""Who sits where: which node answers for which client, and waiting for them with an end."""

import time
from collections.abc import Callable, Sequence
from logging import INFO, WARNING

from flwr.app import Message, MessageType, RecordDict
from flwr.common.logger import log
from flwr.serverapp import Grid

from bherd.errors import BherdError
from bherd.flower import codec
from bherd.flower.gate import Seat


class FederationError(BherdError):
    """The federation cannot go on: too few clients, for too long."""


class Post:
    """Sends messages through a grid and collects the replies, up to a deadline."""

    def __init__(self, grid: Grid, poll: float = 0.5, clock: Callable[[], float] = time.monotonic) -> None:
        self.grid, self.poll, self.clock = grid, poll, clock
        self._open: dict[str, Seat] = {}

    def exchange(
        self, letters: Sequence[tuple[Seat, Message]], deadline: float
    ) -> tuple[dict[str, Seat], list[Message]]:
        """Send and wait; returns the seats by message id, and every reply that came in time."""
        asked = self.send(letters)
        replies: list[Message] = []
        waiting = set(asked)
        while waiting:
            arrived = list(self.grid.pull_messages(waiting))
            replies.extend(arrived)
            waiting -= {reply.metadata.reply_to_message_id for reply in arrived}
            if not waiting or self.clock() >= deadline:
                break
            time.sleep(self.poll)
        self._open.update({number: asked[number] for number in waiting})
        return asked, replies

    def send(self, letters: Sequence[tuple[Seat, Message]]) -> dict[str, Seat]:
        """Push the messages; returns the seats by message id."""
        numbers = list(self.grid.push_messages([message for _, message in letters]))
        return {number: seat for number, (seat, _) in zip(numbers, letters, strict=True) if number}

    def late(self) -> list[tuple[Seat, Message]]:
        """Answers to messages that nobody waits for any more."""
        if not self._open:
            return []
        found = []
        for reply in self.grid.pull_messages(set(self._open)):
            seat = self._open.pop(reply.metadata.reply_to_message_id, None)
            if seat is not None and reply.has_content():
                found.append((seat, reply))
        return found


class Roster:
    """The clients by node. A node is asked once who it is; the first to claim a client keeps it."""

    def __init__(self, post: Post, clients: int, question_seconds: float = 60.0) -> None:
        self.post, self.clients = post, clients
        self.question_seconds = question_seconds
        self._claims: dict[int, int] = {}

    def refresh(self, deadline: float) -> None:
        """Forget the nodes that have gone and ask the new ones who they are."""
        present = set(self.post.grid.get_node_ids())
        self._claims = {node: client for node, client in self._claims.items() if node in present}
        strangers = sorted(present - set(self._claims))
        if strangers:
            self._ask(strangers, min(deadline, self.post.clock() + self.question_seconds))

    def _ask(self, nodes: Sequence[int], deadline: float) -> None:
        seconds = max(1.0, deadline - self.post.clock())
        letters = [
            (Seat(node, -1), Message(RecordDict(), node, MessageType.QUERY, ttl=seconds)) for node in nodes
        ]
        asked, replies = self.post.exchange(letters, deadline)
        for reply in replies:
            seat = asked.get(reply.metadata.reply_to_message_id)
            if seat is None:
                continue
            client = _named_client(reply)
            if client is None or not 0 <= client < self.clients:
                why = reply.error.reason if reply.has_error() else f"it says that it is client {client}"
                log(WARNING, "node %d does not take part: %s", seat.node, why)
                continue
            if client in self._claims.values():
                log(WARNING, "node %d waits: another node answers for client %d", seat.node, client)
            self._claims[seat.node] = client

    def forget(self, node: int) -> None:
        """Strike out a node that failed; it is asked again if it is still there."""
        self._claims.pop(node, None)

    def seats(self, clients: Sequence[int]) -> list[Seat]:
        """The nodes of these clients, as far as they are present, by client."""
        first: dict[int, int] = {}
        for node, client in self._claims.items():
            first.setdefault(client, node)
        return [Seat(first[client], client) for client in clients if client in first]

    def gather(self, clients: Sequence[int], wanted: int, enough: int, deadline: float) -> list[Seat]:
        """Wait until `wanted` of these clients are there, or the deadline is past and `enough` are.

        Raises `FederationError` where not even so many have come.
        """
        said = float("-inf")
        while True:
            self.refresh(deadline)
            seats = self.seats(clients)
            now = self.post.clock()
            if len(seats) >= wanted or (now >= deadline and len(seats) >= enough):
                return seats
            if now >= deadline:
                absent = sorted(set(clients) - {seat.client for seat in seats})
                raise FederationError(
                    f"only {len(seats)} of {len(clients)} clients are connected, but at least {enough} are "
                    f"needed, and the time to wait is over; absent are {absent}: start their SuperNodes"
                )
            if now >= said + 10:
                said = now
                seconds = int(deadline - now)
                log(INFO, "%d of %d clients connected; waiting up to %d s", len(seats), len(clients), seconds)
            time.sleep(self.post.poll)


def _named_client(reply: Message) -> int | None:
    if not reply.has_content() or codec.NOTE not in reply.content.config_records:
        return None
    client = reply.content.config_records[codec.NOTE].get("client")
    return client if isinstance(client, int) else None
