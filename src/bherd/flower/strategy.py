"""Any bherd method as a Flower strategy."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from logging import INFO
from typing import final

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.common.logger import log
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy
from torch import nn

from bherd.errors import InputError
from bherd.flower import codec
from bherd.flower.engine import new_name
from bherd.flower.federation import Federation, FederationSetup
from bherd.flower.messenger import Messenger
from bherd.flower.replies import ClientNode, Rejection
from bherd.flower.settings import Rules
from bherd.loop.server import choose_clients, shipped_params
from bherd.loop.server import server_round as server_round_of
from bherd.loop.state import RunPlan, State, start_memory
from bherd.method import Method
from bherd.methods import named
from bherd.tasks.flat import ravel


@final
class HerdStrategy(Strategy):
    """FedAvg, FedNova, SCAFFOLD, BHerd and any other `Method`, for clients that send the `sum` form.

        strategy = HerdStrategy(model, "bherd-scaffold,alpha=0.5", clients=5, local_lr=0.01)
        result = strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=10)

    Clients are known by the `partition-id` of their nodes. `rules` decide how many must answer and how
    long they are waited for; `start(timeout=...)` bounds the first wait of a round. The models of its rounds
    are the server's own; `shipped` is the one that the method would ship.
    """

    def __init__(
        self,
        model: nn.Module,
        method: Method | str,
        *,
        clients: int,
        local_lr: float,
        epochs: float = 1.0,
        cohort: int | float = 1.0,
        seed: int = 0,
        rules: Rules | None = None,
        name: str = "",
        on_rejection: Callable[[Rejection], None] | None = None,
    ) -> None:
        """Ready for the first round, with nothing sent yet.

        Args:
            model: whose parameters are trained; its architecture is the clients'.
            method: a `Method`, or its name as in a configuration: 'fedavg,server=adam'.
            clients: how many there are; their nodes have the partition-ids from 0.
            local_lr: the learning rate in whose units the clients' sums are taken.
            epochs: local epochs, the factor E of the paper's aggregation.
            cohort: clients per round, a number or a share.
            seed: for the draw of the clients.
            rules: how many must answer, and how long they are waited for.
            name: names the federation to its clients; with it and an earlier strategy's `state` a later run
                goes on with what the clients remember.
            on_rejection: told of every reply that does not count.

        Raises:
            InputError: the method is not known, or the rules are for another wire form.
        """
        if rules is not None and rules.wire != "sum":
            raise InputError("HerdStrategy takes the sum form; the weights form is for stock strategies")
        method = named(method) if isinstance(method, str) else method
        self.plan = RunPlan(1, cohort, epochs, local_lr, seed)
        self.rules = rules or Rules()
        params = ravel(model)
        self.state = State(0, params, None, start_memory(method, params, clients), {})
        self.rejections: list[Rejection] = []
        layout = codec.layout_of(model)
        known = json.dumps({"task": {"clients": clients}, "train": {"epochs": float(epochs)}})
        self._setup = FederationSetup(
            name or new_name(), method, layout, clients, local_lr, self.rules, known
        )
        self._told = on_rejection
        self._federation: Federation | None = None
        self._messages: list[tuple[ClientNode, Message]] = []
        self._chosen: list[int] = []
        self._leading = False

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Flower's loop over the rounds. Overridden only to notice that another strategy wraps this one."""
        self._leading = True
        try:
            return super().start(
                grid, initial_arrays, num_rounds, timeout, train_config, evaluate_config, evaluate_fn
            )
        finally:
            self._leading = False

    @property
    def shipped(self) -> ArrayRecord:
        """The model to evaluate and save: the last one, or the mean that the method's `shipped` takes."""
        params = shipped_params(self._setup.method, self.state)
        rest = None if self._federation is None else self._federation.setup.rest
        return codec.encode_model(self._setup.layout, params, self.state.buffers, rest)

    def summary(self) -> None:
        method = self._setup.method
        for axis, part in method.parts.items():
            log(INFO, "\t├──> %s: %s", axis, part)
        log(INFO, "\t└──> step: %s", method.step)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        del server_round, config
        if not self._leading:
            raise InputError(
                "HerdStrategy is wrapped in another strategy, such as one for differential privacy, which "
                "would take sums of gradients for models: wrap FedAvg and use the weights form instead"
            )
        setup = self._setup
        if self._federation is None:
            names = {slot.name for slot in (*setup.layout.parameters, *setup.layout.buffers)}
            rest = {name: array for name, array in arrays.items() if name not in names}
            setup = replace(setup, rest=rest)
            self._federation = Federation(Messenger(grid), setup, self._note)
        params, buffers = codec.decode_model(setup.layout, arrays)
        self.state = self.state._replace(params=params, buffers=buffers)
        self._chosen, self.state = choose_clients(setup.method, self.plan, setup.clients, self.state)
        deadline = self._federation.messenger.clock() + self.rules.round_timeout
        nodes = self._federation.nodes_of(self._chosen)
        self._messages = self._federation.messages(self.state, nodes, deadline)
        return [message for _, message in self._messages]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        del server_round
        assert self._federation is not None, "configure_train comes first"
        setup, before = self._federation.setup, len(self.rejections)
        asked = {message.metadata.message_id: node for node, message in self._messages}
        checked = self._federation.check(self.state, asked, list(replies))
        outcomes = self._federation.complete(self.state, self._chosen, checked.outcomes)
        self.state = server_round_of(setup.method, self.plan, setup.clients, self.state, outcomes)
        reports = [outcome.report for outcome in outcomes]
        metrics: dict[str, int | float] = {
            "clients": len(reports),
            "rejected": len(self.rejections) - before,
            "steps": sum(report.steps for report in reports),
            "kept": sum(report.kept for report in reports),
            "loss": sum(outcome.loss for outcome in outcomes) / len(outcomes),
        }
        model = codec.encode_model(setup.layout, self.state.params, self.state.buffers, setup.rest)
        return model, MetricRecord({**metrics})

    def _note(self, rejection: Rejection) -> None:
        self.rejections.append(rejection)
        if self._told is not None:
            self._told(rejection)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """None: evaluation belongs on the server, by `start(evaluate_fn=...)`."""
        del server_round, arrays, config, grid
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        del server_round, replies
        return None
