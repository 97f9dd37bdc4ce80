"""The selection ledger of a run as heat maps, and the distance curve."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bherd.indices import Indices
from bherd.report.records import column
from bherd.report.thin import encode, short, spread
from bherd.runs.read import Run


@dataclass(frozen=True)
class ClientCells:
    """One client's heat map: for each shown round and step, 0 left out, r kept as the r-th."""

    client: int
    steps: int
    cells: str
    """rounds x steps numbers of `width` bytes, base64; the largest number: the client sat out."""


@dataclass(frozen=True)
class Herd:
    """Which gradients a run kept."""

    rounds: list[int]
    all_rounds: int
    width: int
    all_clients: int
    clients: list[ClientCells]
    absent: list[int]
    """Clients that never took part."""


@dataclass(frozen=True)
class Distance:
    """||mean of kept - mean of all|| over what as many gradients at random leave, where 1 is chance.

    Both are squared, divided client by client, averaged over the clients of a round and rooted: over random
    choices, the square has the expectation 1.
    """

    round: list[int]
    relative: list[float | None]


_KINDS = (np.uint8, np.uint16, np.uint32)


class Ledger:
    """The ledger of one run as arrays, client by client."""

    def __init__(self, table: pa.Table) -> None:
        self.round = column(table, "round").astype(np.int64)
        self.client = column(table, "client").astype(np.int64)
        self.step = column(table, "step").astype(np.int64)
        self.rank = column(table, "rank").astype(np.int64)
        self.rounds: Indices = np.unique(self.round)
        self.clients: Indices = np.unique(self.client)
        order = np.argsort(self.client, kind="stable")
        starts = np.searchsorted(self.client[order], self.clients)
        self._rows = dict(zip(self.clients.tolist(), np.split(order, starts[1:]), strict=True))

    def steps(self, client: int) -> int:
        """The number of local steps that a client takes in a round."""
        return int(self.step[self._rows[client]].max()) + 1

    def ranks(self, client: int, rounds: Indices) -> npt.NDArray[np.int64]:
        """(rounds, steps): the rank of each step, -1 where left out, -2 where the client sat out."""
        rows = self._rows[client]
        place = np.searchsorted(rounds, self.round[rows]).clip(max=len(rounds) - 1)
        wanted = rounds[place] == self.round[rows]
        mine = rows[wanted]
        table = np.full((len(rounds), self.steps(client)), -2, dtype=np.int64)
        table[place[wanted], self.step[mine]] = self.rank[mine]
        return table


def read_ledger(run: Run) -> Ledger | None:
    """The run's ledger; None where it was switched off or nothing is written yet."""
    table = run.ledger()
    return Ledger(table) if table.num_rows else None


def heat_maps(ledger: Ledger, clients: Indices, everybody: int, budget: int) -> Herd:
    """The cells of some clients, with as many rounds as the budget of bytes allows.

    Args:
        ledger: what the run kept.
        clients: those to show.
        everybody: the number of clients of the federation, whether they took part or not.
        budget: bytes for all cells.
    """
    shown = [int(client) for client in clients]
    steps = [ledger.steps(client) for client in shown]
    kind = next(kind for kind in _KINDS if max(steps) < np.iinfo(kind).max)
    width = np.dtype(kind).itemsize
    fits = max(2, budget // (width * sum(steps)))
    rounds = ledger.rounds[spread(len(ledger.rounds), fits)]
    cells = []
    for client in shown:
        ranks = ledger.ranks(client, rounds)
        values = np.where(ranks == -2, np.iinfo(kind).max, ranks + 1)
        cells.append(ClientCells(client, ranks.shape[1], encode(values.astype(kind))))
    absent = np.setdiff1d(np.arange(everybody), ledger.clients).tolist()
    return Herd(rounds.tolist(), len(ledger.rounds), width, len(ledger.clients), cells, absent)


def distances(run: Run, points: int) -> Distance:
    """The distance of each round; thinned like the curves. Where nothing was left out, chance has none."""
    table = run.clients()
    number, distance, chance = (column(table, name) for name in ("round", "distance", "random_distance"))
    chosen = chance > 0
    rounds, inverse = np.unique(number[chosen], return_inverse=True)
    if not len(rounds):
        return Distance([], [])
    square = (distance[chosen] / chance[chosen]) ** 2
    relative = np.sqrt(np.bincount(inverse, weights=square) / np.bincount(inverse))
    shown = spread(len(rounds), points)
    return Distance(rounds[shown].tolist(), [short(float(value)) for value in relative[shown]])
