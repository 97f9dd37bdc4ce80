"""The Flower engine: clients on other machines, behind the same round loop as any other engine."""

import secrets
from collections.abc import Callable, Sequence

from flwr.serverapp import Grid
from torch import Tensor

from bherd.engines import SimulateEngine
from bherd.flower.codec import layout_of
from bherd.flower.federation import Federation, FederationSetup
from bherd.flower.messenger import Messenger
from bherd.flower.replies import Rejection
from bherd.flower.settings import Rules
from bherd.loop.client import Outcome
from bherd.loop.engine import Engine
from bherd.loop.state import Evaluation, State
from bherd.session import Session
from bherd.sources import identity_of_run


class FlowerEngine(Engine):
    """Clients behind a Flower grid; evaluation on the server.

    What the parts on a client remember stays on its node. `State.clients` holds a receipt for it here, the
    number of the last round of that client that counts, which the next message to it acknowledges.
    """

    def __init__(
        self,
        grid: Grid,
        session: Session,
        rules: Rules,
        name: str,
        on_rejection: Callable[[Rejection], None],
        poll: float = 0.5,
    ) -> None:
        task = session.task
        weights = {client: float(task.size(client)) for client in range(task.clients)}
        layout, local_lr = layout_of(task.model.module), session.local.lr
        decides = identity_of_run(session.config)
        setup = FederationSetup(name, session.method, layout, task.clients, local_lr, rules, decides, weights)
        self.federation = Federation(Messenger(grid, poll), setup, on_rejection)
        self._evaluator = SimulateEngine(task, session.method, session.local, session.config.run.workers)

    def run_clients(self, state: State, clients: Sequence[int]) -> list[Outcome]:
        return self.federation.complete(state, clients, [])

    def evaluate(self, params: Tensor, buffers: Tensor | None, *, train: bool) -> Evaluation:
        return self._evaluator.evaluate(params, buffers, train=train)

    def close(self) -> None:
        self._evaluator.close()


def new_name() -> str:
    """A name for a new federation."""
    return secrets.token_hex(8)
