"""GraB over clients: ask those together whose updates balance each other."""

from collections.abc import Mapping, Sequence
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

    The next pass is the front, then the back from the last to the first. Where a pass ends in the middle of a
    round, the round is filled up from the next one, so that everybody is asked once per pass whatever the
    size of a round. Who was asked and did not come is at the head of what follows. The first pass is a
    random permutation.

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
        asked = _list(state["queue"])[:count]
        state["asked"] = _numbers(asked + _following(state)[: count - len(asked)])
        return state["asked"].sort().values.cpu().numpy(), state

    def observe(self, state: Tensors, reports: Sequence[Report]) -> Tensors:
        came = {report.client: report for report in reports}
        asked, queue = _list(state["asked"]), _list(state["queue"])
        of_this_pass = [client for client in asked if client in queue]
        state = _settle(state, of_this_pass, came)
        if len(of_this_pass) < len(asked):
            mean = state["total"] / state["met"]
            order = [*_list(state["queue"]), *_following(state)]
            state = {**state, **_new_pass(mean), "queue": _numbers(order), "mean": mean}
            state = _settle(state, [client for client in asked if client not in of_this_pass], came)
        return {**state, "asked": _numbers([])}


def _following(state: Tensors) -> list[int]:
    """Those who have been met in this pass, as the next one asks them."""
    return [*_list(state["front"]), *reversed(_list(state["back"]))]


def _settle(state: Tensors, clients: list[int], came: Mapping[int, Report]) -> dict[str, "Tensor"]:
    """A pass after these of its clients were asked: who came has left the queue for the front or the back."""
    import torch

    front, back = _list(state["front"]), _list(state["back"])
    signed, total = state["signed"], state["total"]
    present = [client for client in clients if client in came]
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
    absent = [client for client in clients if client not in came]
    queue = absent + [client for client in _list(state["queue"]) if client not in clients]
    lists = {"queue": _numbers(queue), "front": _numbers(front), "back": _numbers(back)}
    return {**state, **lists, "signed": signed, "total": total, "met": state["met"] + len(present)}


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
