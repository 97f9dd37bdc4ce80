"""GraB over clients: ask those together whose updates balance each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.participation.base import Participation
from bherd.parts.part import Tensors
from bherd.parts.records import Report

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from bherd.parts.records import Indices


@dataclass(frozen=True)
class BalancedClients(Participation):
    """Asks the clients in passes, each in the order that balancing the last pass's updates gives.

    A queue holds who is still to come. With v_i the mean of client i's kept directions, m the mean of the
    v of the last pass (0 at first), for the clients of a round that came, in the order of the queue,

        c = v_i - m;   front and s <- s + c  if ‖s + c‖ < ‖s - c‖,   else back and s <- s - c.

    Where the queue is shorter than a round a new pass begins: those left in it first, then the front, then
    the back from the last to the first. Who was asked and did not come stays at the head of the queue. The
    first pass is a random permutation.

    Lu et al., "GraB: Finding Provably Better Data Permutations than Random Reshuffling" (2022), here over
    clients; three vectors on the server and nothing on the clients. Advised with server momentum or Adam,
    few labels per client and more than three passes; not where the server may not see single updates, not
    for privacy accounts that rely on independent draws, and not with control variates and momentum.
    """

    def init(self, params: "Tensor", clients: int) -> Tensors:
        import torch

        del clients
        return {**_new_pass(params), "asked": _numbers([]), "mean": torch.zeros_like(params)}

    def choose(
        self, state: Tensors, round: int, clients: int, count: int, stream: "np.random.Generator"
    ) -> tuple["Indices", Tensors]:
        del round
        state = dict(state)
        if "queue" not in state:
            state["queue"] = _numbers(stream.permutation(clients).tolist())
        elif len(state["queue"]) < count:
            order = [*_list(state["queue"]), *_list(state["front"]), *reversed(_list(state["back"]))]
            mean = state["total"] / state["met"]
            state |= {**_new_pass(mean), "queue": _numbers(order), "mean": mean}
        state["asked"] = state["queue"][:count].clone()
        return state["asked"].sort().values.cpu().numpy(), state

    def observe(self, state: Tensors, reports: Sequence[Report]) -> Tensors:
        import torch

        came = {report.client: report for report in reports}
        asked, front, back = (_list(state[name]) for name in ("asked", "front", "back"))
        signed, total = state["signed"], state["total"]
        present = [client for client in asked if client in came]
        for client in present:
            update = came[client].update / came[client].counted
            deviation = update - state["mean"]
            total = total + update
            if torch.dot(signed.to(torch.float64), deviation.to(torch.float64)) < 0:
                signed = signed + deviation
                front.append(client)
            else:
                signed = signed - deviation
                back.append(client)
        gone = set(present)
        queue = [client for client in _list(state["queue"]) if client not in gone]
        lists = {"queue": queue, "front": front, "back": back, "asked": []}
        met = state["met"] + len(present)
        named = {name: _numbers(clients) for name, clients in lists.items()}
        return {**state, **named, "signed": signed, "total": total, "met": met}


def _new_pass(like: "Tensor") -> dict[str, "Tensor"]:
    """The memory of a pass that nobody has been met in."""
    import torch

    vectors = {"signed": torch.zeros_like(like), "total": torch.zeros_like(like)}
    return {"front": _numbers([]), "back": _numbers([]), "met": torch.tensor(0), **vectors}


def _numbers(clients: list[int]) -> "Tensor":
    import torch

    return torch.tensor(clients, dtype=torch.int64)


def _list(numbers: "Tensor") -> list[int]:
    return [int(number) for number in numbers.tolist()]
