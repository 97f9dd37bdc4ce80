"""From Flower's run and node configuration to bherd's.

The run configuration has the tables of a bherd configuration file and one more, [federation]:

    [tool.flwr.app.config.method]      name = "bherd-scaffold"
    [tool.flwr.app.config.train]       rounds = 10
    [tool.flwr.app.config.federation]  min-clients = 3

Flower hands them over as flat keys, `method.name` and so on, which is also how `flwr run --run-config`
changes them.
"""

import dataclasses
import json
import math
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bherd.aggregations.average import Average
from bherd.config import TABLES, Config, deciding, difference, from_dict
from bherd.errors import InputError
from bherd.method import Method
from bherd.names import did_you_mean
from bherd.participation.uniform import Uniform
from bherd.servers.sgd import ServerSgd
from bherd.sources import sources_of

WireForm = Literal["sum", "weights"]
FEDERATION = "federation"


@dataclass(frozen=True)
class Rules:
    """How a federation is run: the [federation] table."""

    wire: WireForm = "sum"
    """sum: clients send sums of gradients; weights: they send models, for stock strategies."""
    min_clients: int = 0
    """A round counts with at least so many clients; 0: half of those asked, rounded up."""
    start_timeout: float = 300.0
    """Seconds to wait for all clients before the first round."""
    round_timeout: float = 600.0
    """Seconds to wait for the clients of a round."""
    max_norm: float = 0.0
    """Reject sums of gradients whose norm is larger; 0: no bound."""
    out: str = ""
    """The run directory; empty: a new one under runs/."""

    def __post_init__(self) -> None:
        if self.wire not in typing.get_args(WireForm):
            raise InputError(f"federation.wire is {self.wire!r}, but sum or weights is expected")
        if self.min_clients < 0:
            raise InputError(f"federation.min-clients is {self.min_clients}, but it must not be negative")
        for name, value in (("start-timeout", self.start_timeout), ("round-timeout", self.round_timeout)):
            if not (math.isfinite(value) and value > 0):
                raise InputError(f"federation.{name} is {value}, but it must be positive")
        if not (math.isfinite(self.max_norm) and self.max_norm >= 0):
            raise InputError(f"federation.max-norm is {self.max_norm}, but 0 or a positive bound is expected")

    def enough(self, asked: int) -> int:
        """How many of the clients asked must count."""
        return min(asked, self.min_clients) if self.min_clients else math.ceil(asked / 2)


def read_run_config(flat: Mapping[str, Any]) -> tuple[Config, Rules]:
    """The configuration and the rules in a Flower run configuration."""
    tree: dict[str, dict[str, Any]] = {}
    for key, value in flat.items():
        section, _, name = key.partition(".")
        if not name or section not in (*TABLES, FEDERATION):
            known = [*TABLES, FEDERATION]
            raise InputError(f"run configuration: unknown key {key!r}{did_you_mean(section, known)}")
        tree.setdefault(section, {})[name.replace("-", "_")] = value
    rules = _rules(tree.pop(FEDERATION, {}))
    return from_dict(tree, source="run configuration"), rules


def _rules(values: Mapping[str, Any]) -> Rules:
    types = typing.get_type_hints(Rules)
    for name, value in values.items():
        if name not in types:
            raise InputError(
                f"run configuration: federation has no setting {name!r}{did_you_mean(name, types)}"
            )
        wanted = types[name]
        number = wanted is float and isinstance(value, int | float) and not isinstance(value, bool)
        text = wanted in (str, WireForm) and isinstance(value, str)
        whole = wanted is int and isinstance(value, int) and not isinstance(value, bool)
        if not (number or text or whole):
            raise InputError(f"run configuration: federation.{name} cannot be {value!r}")
    return Rules(**values)


def flat_run_config(config: Config, rules: Rules) -> dict[str, str | int | float | bool]:
    """The same as Flower wants it: every setting that has a value, under its flat key."""
    tree: dict[str, Any] = {**dataclasses.asdict(config), FEDERATION: dataclasses.asdict(rules)}
    return {
        f"{section}.{name.replace('_', '-')}": value
        for section, values in tree.items()
        for name, value in values.items()
        if value is not None
    }


@dataclass(frozen=True)
class NodeSettings:
    """What a SuperNode is told by its --node-config."""

    client: int
    """partition-id."""
    clients: int | None
    """num-partitions, if it is given."""
    state_folder: Path | None
    """state-dir: where the client's own state is kept."""
    data_folder: str | None
    """data-dir: where this machine has the dataset."""


def read_node_config(values: Mapping[str, Any]) -> NodeSettings:
    """The settings of this node."""
    client, clients = values.get("partition-id"), values.get("num-partitions")
    if not isinstance(client, int) or client < 0:
        raise InputError(
            f"this node's partition-id is {client!r}, but the number of its client is expected: start "
            'the SuperNode with --node-config "partition-id=0 num-partitions=5"'
        )
    if clients is not None and (not isinstance(clients, int) or client >= clients):
        raise InputError(f"this node is partition {client} of {clients!r}: it must be from 0 to one less")
    folder, data = values.get("state-dir"), values.get("data-dir")
    return NodeSettings(client, clients, Path(str(folder)) if folder else None, str(data) if data else None)


_ON_CLIENTS = ("order", "optimizer", "correction", "selector", "transform")


class OtherSettingsError(InputError):
    """Server and client do not run the same run."""


def check_identity(told: str, own: Config) -> None:
    """Refuse what a server tells of its settings, as JSON, where it is not what this client has.

    Settings that the server does not tell are this client's own business.
    """
    tree = deciding(own)
    try:
        server = json.loads(told)
        sources = dict(server.pop("sources", {}))
        for table, values in server.items():
            tree[table] = {**tree.get(table, {}), **values}
        other = difference(from_dict(tree), own)
    except (ValueError, TypeError, AttributeError) as error:
        raise OtherSettingsError(f"the server's settings cannot be used here: {error}") from error
    if other is not None:
        raise OtherSettingsError(
            f"{other.path} is {other.now!r} on this client: must be the server's, {other.before!r}. "
            "Start the run again with one configuration."
        )
    _check_code(sources, own)


def _check_code(told: Mapping[str, str], own: Config) -> None:
    """Refuse a user's own part or model whose source is not the server's."""
    here = sources_of(own)
    for name, digest in told.items():
        if here.get(name) != digest:
            raise OtherSettingsError(
                f"{name} is other code on this client ({here.get(name, 'none')[:12]}): must be the server's "
                f"({digest[:12]}). Install the same version on both."
            )


def client_half(method: Method) -> str:
    """What the clients do in a method's name: their parts by axis, as JSON; give it `method.at(round)`."""
    return json.dumps({axis: str(method.parts[axis]) for axis in _ON_CLIENTS})


def check_client_half(told: str, method: Method, axes: Sequence[str] = _ON_CLIENTS) -> None:
    """Refuse a method whose half on the clients is not the one that the server tells; '': it tells none.

    Args:
        told: the server's, from `client_half`.
        method: this client's, at the same round.
        axes: the parts that must agree.
    """
    if not told:
        return
    theirs, ours = json.loads(told), json.loads(client_half(method))
    for axis in axes:
        if theirs.get(axis) != ours[axis]:
            raise OtherSettingsError(
                f"{axis} is {ours[axis]} on this client: must be the server's, {theirs.get(axis)}. "
                "Start the run again with one configuration."
            )


def check_config(config: Config) -> None:
    """Refuse what a federation cannot do."""
    if config.run.snapshot_every:
        raise InputError(
            f"snapshot_every = {config.run.snapshot_every}: must be 0 in a federation, whose gradients stay "
            "on the clients. Leave --snapshot-every out."
        )


def check_weights_form(method: Method) -> None:
    """Refuse methods whose server needs more than the mean of the clients' models."""
    if method.correction.stateful:
        needs = f"the correction {method.correction} sends its state beside the gradients"
    elif not isinstance(method.aggregation, Average):
        needs = f"the aggregation {method.aggregation} needs every client's update for itself"
    elif not isinstance(method.server, ServerSgd):
        needs = f"the server {method.server} is bherd's own"
    elif method.selector.nominal_share() is None:
        needs = f"the selector {method.selector} has a share that only the server can tell"
    elif method.transform.lossy:
        needs = f"the transform {method.transform} changes updates, not models"
    elif method.visiting.learns:
        needs = f"the order {method.visiting} remembers rounds that only bherd's own server tells apart"
    elif not isinstance(method.participation, Uniform):
        needs = f"the participation {method.participation} is bherd's own"
    elif not method.shipped.is_last:
        needs = f"the shipped model {method.shipped} is bherd's own"
    else:
        return
    raise InputError(
        f"the weights form cannot carry this method: {needs}; use the sum form with bherd's strategy "
        "(weights serves fedavg and fedprox, and bherd-, random- and reversed- of both)"
    )
