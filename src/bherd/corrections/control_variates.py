"""Control variates: SCAFFOLD, the client's half and the server's half.

Karimireddy et al., "SCAFFOLD: Stochastic Controlled Averaging for Federated Learning" (2020),
option II.
"""

from collections.abc import Sequence

from torch import Tensor

from bherd.method import Correction


def control_variates() -> Correction:
    """Correct the drift of the clients by their control variates c_i and the server's c.

    client:  w <- w - eta (grad - c_i + c)           for every local step
             c_i' = c_i - c + mean of the kept corrected gradients;   sends c_i' - c_i
    server:  c <- c + (1/N) sum of the changes sent, over all N clients, absent ones counting 0

    The selector sees the corrected gradients, the ones that moved the model. An absent client keeps
    its c_i. Use it where clients' data differ; it sends twice the bytes of FedAvg.
    """
    return Correction("control-variates", stateful=True, offset=_offset, finish=_finish, combine=_combine)


def _offset(own: Tensor, shared: Tensor) -> Tensor:
    return shared - own


def _finish(own: Tensor, shared: Tensor, mean_kept: Tensor) -> tuple[Tensor, Tensor]:
    change = mean_kept - shared
    return own + change, change


def _combine(shared: Tensor, extras: Sequence[Tensor], clients: int) -> Tensor:
    for change in extras:
        shared = shared + change / clients
    return shared
