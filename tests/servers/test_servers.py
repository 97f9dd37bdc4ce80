"""The server rules with numbers that can be checked by hand."""

import pytest
import torch
from torch import Tensor

from bherd.corrections import no_correction
from bherd.errors import InputError
from bherd.loop.server import aggregate, combine_buffers
from bherd.method import Gain, Method, Report, StepLength, shares
from bherd.selectors import everything
from bherd.servers import average, nova

# Client 0: 3/4 of the samples, 2 of 4 gradients kept, which sum to (4, -2).
# Client 1: 1/4 of the samples, 1 of 2 gradients kept, which is (8, 0).
REPORTS = [
    Report(0, 30, 4, 2, torch.tensor([4.0, -2.0])),
    Report(1, 10, 2, 1, torch.tensor([8.0, 0.0])),
]


def test_shares_sum_to_one() -> None:
    assert shares(REPORTS) == [0.75, 0.25]


@pytest.mark.parametrize(
    ("step", "gain", "expected"),
    [
        # 3/4 (4, -2) + 1/4 (8, 0) = (5, -1.5)
        ("equation", Gain(1.0, 1.0), [5.0, -1.5]),
        ("equation", Gain(1.0, 0.5), [10.0, -3.0]),
        ("equation", Gain(2.0, 0.5), [20.0, -6.0]),
        # tau / k is 2 for both: (10, -3), and E / alpha = 2 on top
        ("amplified", Gain(1.0, 0.5), [20.0, -6.0]),
        ("amplified", Gain(0.5, 0.5), [10.0, -3.0]),
        # tau / k alone: neither E nor the nominal alpha, which is not the real one here
        ("matched", Gain(1.0, 0.5), [10.0, -3.0]),
        ("matched", Gain(3.0, 0.4), [10.0, -3.0]),
    ],
)
def test_average(step: StepLength, gain: Gain, expected: list[float]) -> None:
    assert average(step).direction(REPORTS, gain).tolist() == expected


@pytest.mark.parametrize(
    ("step", "gain", "expected"),
    [
        # means (2, -1) and (8, 0): 3/4 (2, -1) + 1/4 (8, 0) = (3.5, -0.75); tau_eff = 3.5
        ("equation", Gain(1.0, 1.0), [12.25, -2.625]),
        ("equation", Gain(1.0, 0.5), [12.25, -2.625]),
        ("equation", Gain(2.0, 0.5), [24.5, -5.25]),
        ("amplified", Gain(1.0, 0.5), [24.5, -5.25]),
        ("amplified", Gain(2.0, 0.25), [98.0, -21.0]),
        # the means times tau_eff, whatever E and alpha are
        ("matched", Gain(1.0, 0.5), [12.25, -2.625]),
        ("matched", Gain(2.0, 0.25), [12.25, -2.625]),
    ],
)
def test_nova(step: StepLength, gain: Gain, expected: list[float]) -> None:
    assert nova(step).direction(REPORTS, gain).tolist() == expected


@pytest.mark.parametrize("rule", [average, nova], ids=["average", "nova"])
def test_the_step_is_local_lr_times_server_lr_times_direction(rule: object) -> None:
    assert callable(rule)
    server = rule(server_lr=0.5)
    params = torch.tensor([1.0, 1.0])
    new = aggregate(Method(no_correction(), everything(), server), params, REPORTS, local_lr=0.25, epochs=1.0)
    direction: Tensor = server.direction(REPORTS, Gain(1.0, 1.0))
    assert torch.equal(new, params - 0.125 * direction)
    assert params.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rule", [average, nova], ids=["average", "nova"])
@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf")])
def test_a_server_lr_that_is_not_positive_is_refused(rule: object, bad: float) -> None:
    assert callable(rule)
    with pytest.raises(InputError, match=r"server_lr is .*positive"):
        rule(server_lr=bad)


@pytest.mark.parametrize("rule", [average, nova], ids=["average", "nova"])
def test_an_unknown_step_is_refused(rule: object) -> None:
    assert callable(rule)
    with pytest.raises(InputError, match="step is 'longer', but one of equation, amplified"):
        rule("longer")


def test_buffers_are_averaged_by_share_in_any_order() -> None:
    buffers = [torch.tensor([4.0, 10.0]), torch.tensor([8.0, 11.0])]
    reports = [r._replace(buffers=b) for r, b in zip(REPORTS, buffers, strict=True)]
    for given in (reports, reports[::-1]):
        combined = combine_buffers(given)
        assert combined is not None
        assert combined.tolist() == [5.0, 10.25]
    assert combine_buffers(REPORTS) is None
