"""Normalized averaging: FedNova's server.

Wang et al., "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization"
(2020).
"""

from collections.abc import Sequence

from torch import Tensor

from bherd.method import Gain, Report, Server, StepLength, shares
from bherd.servers.checks import check_rule


def nova(step: StepLength = "equation", server_lr: float = 1.0) -> Server:
    """w <- w - eta server_lr D: the clients' mean kept gradients, times the effective steps.

        equation:   D = E tau_eff sum p_i g_i / k_i,         tau_eff = sum p_i tau_i
        amplified:  the same, 1 / alpha longer
        matched:    D = tau_eff sum p_i g_i / k_i

    `matched` is as long as FedNova's own step whatever was kept: there is no share to make up for,
    since a mean does not shrink with the number of gradients in it, so only the factor E goes.
    A client with more steps does not weigh more than its samples do. Use it where clients differ in
    their number of steps; with equal steps and everything kept it is `average`.
    """
    check_rule(step, server_lr)

    def direction(reports: Sequence[Report], gain: Gain) -> Tensor:
        weights = shares(reports)
        effective = sum(p * report.steps for p, report in zip(weights, reports, strict=True))
        total = sum((p / report.kept) * report.kept_sum for p, report in zip(weights, reports, strict=True))
        assert isinstance(total, Tensor)
        epochs = 1.0 if step == "matched" else gain.epochs
        length = 1.0 / gain.share if step == "amplified" else 1.0
        return epochs * length * effective * total

    return Server("nova", direction, server_lr)
