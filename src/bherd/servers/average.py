"""The weighted average: FedAvg's server, and BHerd's.

McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data" (2017);
Luo et al., BHerd, equation "global-aggregation".
"""

from collections.abc import Sequence

from torch import Tensor

from bherd.method import Gain, Report, Server, StepLength, shares
from bherd.servers.checks import check_rule


def average(step: StepLength = "equation", server_lr: float = 1.0) -> Server:
    """w <- w - eta server_lr D, with the direction D of one of two lengths:

        equation:   D = (E / alpha) sum p_i g_i
        amplified:  D = (E / alpha) sum p_i tau_i g_i / k_i

    Under `equation` the factor 1 / alpha makes up for the gradients that were left out, so the step
    is as long as FedAvg's; `amplified` is 1 / alpha longer than that. With everything kept, E and
    alpha are 1 and both are FedAvg.
    """
    check_rule(step, server_lr)

    def direction(reports: Sequence[Report], gain: Gain) -> Tensor:
        scales = [1.0 if step == "equation" else r.steps / r.kept for r in reports]
        total = sum(
            p * scale * report.kept_sum
            for p, scale, report in zip(shares(reports), scales, reports, strict=True)
        )
        assert isinstance(total, Tensor)
        return gain.epochs / gain.share * total

    return Server("average", direction, server_lr)
