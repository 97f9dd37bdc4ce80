"""The server's step with numbers that can be checked by hand: its length, its rate, and the buffers."""

import pytest
import torch

from bherd.aggregations.average import Average
from bherd.aggregations.base import Aggregation
from bherd.aggregations.nova import Nova
from bherd.errors import InputError
from bherd.loop.server import aggregate, combine_buffers
from bherd.method import Method, shares
from bherd.parts.records import Report, StepLength
from bherd.selectors.base import Selector
from bherd.selectors.everything import Everything
from bherd.selectors.herding import Herding
from bherd.servers.sgd import ServerSgd

# Client 0: 3/4 of the samples, 2 of 4 gradients kept, which sum to (4, -2).
# Client 1: 1/4 of the samples, 1 of 2 gradients kept, which is (8, 0).
REPORTS = [
    Report(0, 30, 4, 2, torch.tensor([4.0, -2.0])),
    Report(1, 10, 2, 1, torch.tensor([8.0, 0.0])),
]
ALL, HALF, QUARTER = Everything(), Herding(0.5), Herding(0.25)


def direction(method: Method, epochs: float) -> list[float]:
    """How far two parameters at 0 go at a rate of 1, turned round."""
    moved, memory = aggregate(method, {}, torch.zeros(2), REPORTS, local_lr=1.0, epochs=epochs)
    assert memory == {}
    return [-float(entry) for entry in moved]


def test_shares_sum_to_one() -> None:
    assert shares(REPORTS) == [0.75, 0.25]


@pytest.mark.parametrize(
    ("step", "selector", "epochs", "expected"),
    [
        # 3/4 (4, -2) + 1/4 (8, 0) = (5, -1.5)
        (None, ALL, 1.0, [5.0, -1.5]),
        (None, ALL, 2.0, [5.0, -1.5]),  # no E where everything is kept
        ("equation", Herding(1.0), 1.0, [5.0, -1.5]),
        ("equation", HALF, 1.0, [10.0, -3.0]),
        ("equation", HALF, 2.0, [20.0, -6.0]),
        # tau / k is 2 for both: (10, -3), and E / alpha = 2 on top
        ("amplified", HALF, 1.0, [20.0, -6.0]),
        ("amplified", HALF, 0.5, [10.0, -3.0]),
        # tau / k alone: neither E nor the nominal alpha, which is not the real one here
        ("matched", HALF, 1.0, [10.0, -3.0]),
        ("matched", Herding(0.4), 3.0, [10.0, -3.0]),
    ],
)
def test_average(step: StepLength | None, selector: Selector, epochs: float, expected: list[float]) -> None:
    assert direction(Method(selector, aggregation=Average(), step=step), epochs) == expected


@pytest.mark.parametrize(
    ("step", "selector", "epochs", "expected"),
    [
        # means (2, -1) and (8, 0): 3/4 (2, -1) + 1/4 (8, 0) = (3.5, -0.75); tau_eff = 3.5
        (None, ALL, 2.0, [12.25, -2.625]),
        ("equation", HALF, 1.0, [12.25, -2.625]),
        ("equation", HALF, 2.0, [24.5, -5.25]),
        ("amplified", HALF, 1.0, [24.5, -5.25]),
        ("amplified", QUARTER, 2.0, [98.0, -21.0]),
        # the means times tau_eff, whatever E and alpha are
        ("matched", HALF, 1.0, [12.25, -2.625]),
        ("matched", QUARTER, 2.0, [12.25, -2.625]),
    ],
)
def test_nova(step: StepLength | None, selector: Selector, epochs: float, expected: list[float]) -> None:
    assert direction(Method(selector, aggregation=Nova(), step=step), epochs) == expected


def test_weights_of_the_kept_steps_count_in_place_of_their_number() -> None:
    """Two steps that count 3 together are 3 of 4: their mean is a third of what is sent."""
    weighted = [REPORTS[0]._replace(kept_weight=3.0), REPORTS[1]]
    assert [report.counted for report in weighted] == [3.0, 1]
    moved, _ = aggregate(
        Method(HALF, aggregation=Nova(), step="matched"),
        {},
        torch.zeros(2),
        weighted,
        local_lr=1.0,
        epochs=1.0,
    )
    assert moved.tolist() == pytest.approx([-3.5 * (0.75 * 4 / 3 + 2), 3.5 * 0.75 * 2 / 3])


@pytest.mark.parametrize("rule", [Average(), Nova()], ids=str)
def test_the_step_is_local_lr_times_server_lr_times_direction(rule: Aggregation) -> None:
    method = Method(aggregation=rule, server=ServerSgd(0.5))
    params = torch.tensor([1.0, 1.0])
    new, _ = aggregate(method, {}, params, REPORTS, local_lr=0.25, epochs=1.0)
    plain = torch.tensor(direction(Method(aggregation=rule), 1.0))
    assert torch.equal(new, params - 0.125 * plain)
    assert params.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_that_is_not_positive_is_refused(bad: float) -> None:
    with pytest.raises(InputError, match=r"lr = .*: must be a positive number\. Try 1"):
        ServerSgd(bad)


@pytest.mark.parametrize("rule", [Average(), Nova()], ids=str)
def test_an_unknown_step_is_refused(rule: Aggregation) -> None:
    with pytest.raises(InputError, match="step = 'longer': must be one of equation, amplified, matched"):
        Method(HALF, aggregation=rule, step="longer")  # type: ignore[arg-type]


def test_a_step_where_everything_is_kept_is_refused() -> None:
    with pytest.raises(InputError, match=r"step = matched: everything keeps everything.*Leave it out"):
        Method(step="matched")


def test_buffers_are_averaged_by_share_in_any_order() -> None:
    buffers = [torch.tensor([4.0, 10.0]), torch.tensor([8.0, 11.0])]
    reports = [r._replace(buffers=b) for r, b in zip(REPORTS, buffers, strict=True)]
    for given in (reports, reports[::-1]):
        combined = combine_buffers(given)
        assert combined is not None
        assert combined.tolist() == [5.0, 10.25]
    assert combine_buffers(REPORTS) is None
