"""The clients' optimizer: against torch's own."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from bherd.errors import InputError
from bherd.optimizers.sgd import LocalSgd
from bherd.parts.schedule import Schedule

LR = 0.07
STEPS = 8


def losses(w: Tensor, seed: int) -> list[Tensor]:
    """What each step minimizes: a quartic about a place of its own."""
    generator = torch.Generator().manual_seed(seed)
    places = torch.randn((STEPS, len(w)), generator=generator, dtype=torch.float64)
    return [((w - place) ** 2).sum() + 0.1 * (w**4).sum() for place in places]


@given(
    momentum=st.sampled_from([0.0, 0.5, 0.9]),
    nesterov=st.booleans(),
    weight_decay=st.sampled_from([0.0, 0.01, 0.5]),
    clip=st.sampled_from([0.0, 0.3, 2.0, 50.0]),
    seed=st.integers(0, 100),
)
def test_it_steps_as_torch_does(
    momentum: float, nesterov: bool, weight_decay: float, clip: float, seed: int
) -> None:
    nesterov = nesterov and momentum > 0
    start = torch.linspace(-1, 1, 5, dtype=torch.float64)
    theirs = start.clone().requires_grad_()
    oracle = torch.optim.SGD([theirs], LR, momentum, weight_decay=weight_decay, nesterov=nesterov)
    part = LocalSgd(momentum, nesterov, weight_decay, clip)
    ours, state, total = start, part.init(start), torch.zeros_like(start)
    for step in range(STEPS):
        (theirs.grad,) = torch.autograd.grad(losses(theirs, seed)[step], theirs)
        if clip:
            clip_grad_norm_([theirs], clip)
        oracle.step()
        leaf = ours.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(losses(leaf, seed)[step], leaf)
        direction, state = part.direction(state, gradient, ours)
        ours, total = ours - LR * direction, total + direction
        torch.testing.assert_close(ours, theirs.detach(), rtol=0, atol=1e-12)
    # The rate times the sum of all directions is the displacement.
    torch.testing.assert_close(-LR * total, theirs.detach() - start, rtol=0, atol=1e-12)


def test_by_hand() -> None:
    part = LocalSgd(momentum=0.5, weight_decay=0.1, clip=5.0)
    w, gradient = torch.tensor([10.0, 0.0]), torch.tensor([6.0, 8.0])
    first, state = part.direction(part.init(w), gradient, w)
    torch.testing.assert_close(first, torch.tensor([4.0, 4.0]))  # (3, 4) + 0.1 (10, 0)
    second, _ = part.direction(state, torch.zeros(2), torch.zeros(2))
    torch.testing.assert_close(second, torch.tensor([2.0, 2.0]))


def test_plain_is_the_gradient_itself() -> None:
    gradient = torch.tensor([6.0, 8.0])
    direction, state = LocalSgd().direction(LocalSgd().init(gradient), gradient, gradient)
    assert direction is gradient
    assert state == {}
    assert LocalSgd().is_plain()


@pytest.mark.parametrize(
    "part",
    [
        LocalSgd(momentum=0.9),
        LocalSgd(0.9, nesterov=True),
        LocalSgd(weight_decay=0.1),
        LocalSgd(clip=1.0),
        LocalSgd(momentum=Schedule("linear:0:0.9:10")),
    ],
    ids=str,
)
def test_everything_else_is_not_plain(part: LocalSgd) -> None:
    assert not part.is_plain()


def test_nothing_is_changed_in_place() -> None:
    part = LocalSgd(0.9, True, 0.1, 1.0)
    w, gradient = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    _, state = part.direction(part.init(w), gradient, w)
    before = state["v"].clone()
    part.direction(state, gradient, w)
    assert torch.equal(state["v"], before)
    assert w.tolist() == [1.0, 2.0]
    assert gradient.tolist() == [3.0, 4.0]


def test_the_numbers_are_checked() -> None:
    with pytest.raises(InputError, match=r"nesterov = True: needs a momentum above 0. Try momentum=0.9."):
        LocalSgd(nesterov=True)
    for momentum, weight_decay, clip in [(1.0, 0.0, 0.0), (0.0, -0.1, 0.0), (0.0, 0.0, -1.0)]:
        with pytest.raises(InputError, match="Try"):
            LocalSgd(momentum, False, weight_decay, clip)
