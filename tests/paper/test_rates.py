"""The learning rate of the CNN: the rule that chooses it, and the experiment with smaller ones."""

from types import SimpleNamespace
from typing import Any

import pytest

from paper import contrast, eta, rates
from paper.catalogue import choose, curves_of
from paper.grid import CASES, unique
from paper.scales import ETAS, make_scale

PAPER = make_scale("paper", cifar=True)
SVM = PAPER.svm


@pytest.mark.parametrize(
    ("spoilt", "chosen"),
    [
        (None, 0.4),
        ({"diverged_at": 3}, 0.2),
        ({"tail_loss": 0.56}, 0.2),
        ({"tail_loss": 2.3, "best_loss": 2.29}, 0.2),  # calm, since it does nothing any more
    ],
)
def test_the_largest_stable_rate(spoilt: dict[str, float] | None, chosen: float) -> None:
    workload = make_scale("quick", cifar=True).cnn_mnist
    good = {"diverged_at": 0, "tail_loss": 0.5, "best_loss": 0.5}
    runs = {
        eta.fedavg(workload, case, rate).key: [SimpleNamespace(seed=seed, **good) for seed in range(5)]
        for case in CASES
        for rate in ETAS
    }
    if spoilt:
        runs[eta.fedavg(workload, "case3", 0.4).key][1] = SimpleNamespace(seed=1, **good | spoilt)
        runs[eta.fedavg(workload, "case2", 0.2).key][3] = SimpleNamespace(seed=3, **good | spoilt)
        runs[eta.fedavg(workload, "case2", workload.lr).key][4] = SimpleNamespace(seed=4, **good | spoilt)
    results: Any = SimpleNamespace(runs=runs, scale=make_scale("quick", cifar=True))
    assert eta.largest_stable(results, workload) == chosen  # the seeds after the third do not choose
    assert eta.later_seeds(results, workload) == (5 if spoilt else 6, 6)
    (note,) = eta.notes(results, workload)
    assert f"is {chosen:g} of 0.01, 0.03, 0.1, 0.2, 0.4; used: 0.1. With the later seeds" in note
    assert eta.notes(results, SVM) == []
    assert eta.largest_stable(SimpleNamespace(runs={}), workload) is None  # type: ignore[arg-type]


def test_smaller_rates_share_their_runs_with_the_other_figures() -> None:
    quick = make_scale("quick", cifar=True)
    assert rates.rates(quick.cnn_mnist) == (0.01, 0.03, 0.1)
    assert rates.rates(quick.cnn_cifar) == (0.003, 0.01, 0.03)
    others = curves_of(choose(["2a", "eta"]), quick, ["cnn-mnist"])
    keys = {curve.key for curve in others}
    mine = [c for c in unique(rates.curves(quick)) if c.workload == "cnn-mnist"]
    assert len(mine) == 3 * 3 * 5
    assert sum(curve.key in keys for curve in mine) == 3 * 5 + 2 * 3  # all at 2a's rate, FedAvg at eta's
    assert rates.curves(PAPER) == []


def test_the_controls_of_a_smaller_rate_have_that_rate() -> None:
    cnn = make_scale("quick", cifar=True).cnn_cifar
    found = rates.rivals(cnn, "case3", 0.01)
    assert {curve.settings.lr for curve in found} == {0.01}
    assert [curve.settings.method for curve in found] == [
        "fedavg",
        "bherd-fedavg",
        "bherd-fedavg",
        "fedavg",
        "random-fedavg",
    ]
    assert (found.longer.settings.server_lr, found.longer.settings.reshuffle) == (2.0, False)
    assert contrast.rivals(cnn, found.amplified)[0] == found.fedavg
