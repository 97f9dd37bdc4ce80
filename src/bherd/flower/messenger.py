"""Messages to the nodes of clients, and their replies up to a deadline."""

import time
from collections.abc import Callable, Sequence

from flwr.app import Message
from flwr.serverapp import Grid

from bherd.flower.replies import ClientNode


class Messenger:
    """Sends messages through a grid and collects the replies, up to a deadline."""

    def __init__(self, grid: Grid, poll: float = 0.5, clock: Callable[[], float] = time.monotonic) -> None:
        self.grid, self.poll, self.clock = grid, poll, clock
        self._open: dict[str, ClientNode] = {}

    def exchange(
        self, messages: Sequence[tuple[ClientNode, Message]], deadline: float
    ) -> tuple[dict[str, ClientNode], list[Message]]:
        """Send and wait; returns the nodes by message id, and every reply that came in time."""
        asked = self.send(messages)
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

    def send(self, messages: Sequence[tuple[ClientNode, Message]]) -> dict[str, ClientNode]:
        """Push the messages; returns the nodes by message id."""
        numbers = list(self.grid.push_messages([message for _, message in messages]))
        return {number: node for number, (node, _) in zip(numbers, messages, strict=True) if number}

    def late(self) -> list[tuple[ClientNode, Message]]:
        """Answers to messages that nobody waits for any more."""
        if not self._open:
            return []
        found = []
        for reply in self.grid.pull_messages(set(self._open)):
            node = self._open.pop(reply.metadata.reply_to_message_id, None)
            if node is not None and reply.has_content():
                found.append((node, reply))
        return found
