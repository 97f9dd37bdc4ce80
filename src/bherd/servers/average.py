"""The weighted average: FedAvg's server, and BHerd's.

McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data" (2017);
Luo et al., BHerd, equation "global-aggregation".
"""

from collections.abc import Sequence

from torch import Tensor

from bherd.method import Gain, Report, Server, StepLength, shares
from bherd.servers.checks import check_rule


def average(step: StepLength = "equation", server_lr: float = 1.0) -> Server:
    """w <- w - eta server_lr D, with the direction D of one of three lengths:

        equation:   D = (E / alpha) sum p_i g_i
        amplified:  D = (E / alpha) sum p_i tau_i g_i / k_i
        matched:    D = sum p_i tau_i g_i / k_i

    `matched` puts each client's mean kept gradient where FedAvg has the mean of all tau_i, so its step
    is as long as FedAvg's whatever tau_i is. `equation` makes up for the gradients left out by the
    nominal alpha: as long where k_i = alpha tau_i and E = 1, and up to 1 / alpha longer for clients
    with few steps. `amplified` is E / alpha longer than `matched`. With everything kept, E and alpha
    are 1 and all three are FedAvg.
    """
    check_rule(step, server_lr)

    def direction(reports: Sequence[Report], gain: Gain) -> Tensor:
        scales = [1.0 if step == "equation" else r.steps / r.kept for r in reports]
        total = sum(
            p * scale * report.kept_sum
            for p, scale, report in zip(shares(reports), scales, reports, strict=True)
        )
        assert isinstance(total, Tensor)
        factor = 1.0 if step == "matched" else gain.epochs / gain.share
        return factor * total

    return Server("average", direction, server_lr)
