"""Ask every client once before any is asked again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bherd.participation.base import Participation
from bherd.parts.part import Tensors

if TYPE_CHECKING:
    import numpy as np

    from bherd.parts.records import Indices


@dataclass(frozen=True)
class ShuffledClients(Participation):
    """Asks the clients in passes: each pass is a new random permutation, of which a round takes the next.

    Where a pass ends in the middle of a round, the round is filled up from the next pass, with its first
    clients that are not in the round already; those passed over come first in the next round. So nobody is
    asked twice in a round, everybody once in a pass, and at no time has one client been asked two times more
    often than another. A client that was asked and did not answer has had its turn.

    Malinovsky et al., "Federated Learning with Regularized Client Participation" (2023). Free, and calmer
    than `uniform` where clients differ; not for privacy accounts that rely on independent draws.
    """

    def choose(
        self, state: Tensors, round: int, clients: int, count: int, stream: "np.random.Generator"
    ) -> tuple["Indices", Tensors]:
        import numpy as np
        import torch

        del round
        rest: Indices = state["rest"].cpu().numpy() if "rest" in state else np.empty(0, dtype=np.int64)
        asked, rest = rest[:count], rest[count:]
        if len(asked) < count:
            following = stream.permutation(clients)
            fresh = following[~np.isin(following, asked)][: count - len(asked)]
            asked, rest = np.concatenate([asked, fresh]), following[~np.isin(following, fresh)]
        return np.sort(asked), {"rest": torch.from_numpy(rest.copy())}
