"""What clients send: clipped, hidden, quantized, thinned out, or wrong on purpose."""

import math
import subprocess
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bherd.errors import InputError
from bherd.parts.part import Tensors
from bherd.parts.records import Sent
from bherd.parts.spec import build
from bherd.parts.table import TABLE
from bherd.streams import stream
from bherd.transforms.attacks import NoiseAttack, ScaledAttack, SignFlip
from bherd.transforms.base import Transform
from bherd.transforms.clip import Clip
from bherd.transforms.gaussian import ClipAndNoise
from bherd.transforms.none import AsItIs
from bherd.transforms.quantize import Quantize
from bherd.transforms.top_k import TopK

PARTS: list[Transform] = [
    AsItIs(),
    Clip(2.5),
    ClipAndNoise(norm=0.5, noise=2.0),
    Quantize(3),
    TopK(0.25),
    SignFlip((0, 3), 2.0),
    NoiseAttack((1,), 0.5),
    ScaledAttack((2, 1), 4.0),
]
every_part = pytest.mark.parametrize("part", PARTS, ids=str)
vectors = st.integers(1, 20).flatmap(
    lambda d: arrays(np.float64, d, elements=st.floats(-100, 100, allow_subnormal=False))
)


class Same(np.random.Generator):
    """A generator whose uniform numbers are all the same."""

    number = 0.0

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return np.full(size, self.number)


def vector(*numbers: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.tensor(numbers, dtype=dtype)


def send(part: Transform, update: torch.Tensor, client: int = 0, state: Tensors | None = None) -> Sent:
    return part.send(state or {}, update, client, stream(0, "send", 1, client))


def test_every_transform_of_the_table_is_tested_here() -> None:
    assert {str(part).split(",")[0] for part in PARTS} == set(TABLE["transform"].parts)


@every_part
def test_the_text_of_a_transform_gives_it_back(part: Transform) -> None:
    assert build("transform", str(part)) == part
    assert build("transform", str(part).split(",")[0]) == type(part)()


@every_part
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_an_update_keeps_its_shape_and_type_and_is_not_changed_in_place(
    part: Transform, dtype: torch.dtype
) -> None:
    for update in (torch.randn(12, generator=torch.Generator().manual_seed(1), dtype=dtype), torch.zeros(12)):
        before = update.clone()
        sent = part.send({}, update, 1, stream(0, "send", 1, 1))
        again = part.send(sent.state, update, 1, stream(0, "send", 2, 1))
        assert torch.equal(update, before)
        for one in (sent, again):
            assert (one.update.shape, one.update.dtype) == (update.shape, update.dtype)
            assert bool(torch.isfinite(one.update).all())
            assert one.bits > 0
        assert torch.equal(sent.update, part.send({}, update, 1, stream(0, "send", 1, 1)).update)


def test_as_it_is() -> None:
    update = torch.arange(10, dtype=torch.float64)
    sent = send(AsItIs(), update)
    assert torch.equal(sent.update, update)
    assert sent.bits == 640
    assert send(AsItIs(), update.to(torch.float32)).bits == 320
    assert [part for part in PARTS if not part.lossy] == [AsItIs()]
    assert [str(part).split(",")[0] for part in PARTS if part.private] == ["gaussian"]


def test_clip_by_hand() -> None:
    assert send(Clip(2.5), vector(3.0, 4.0)).update.tolist() == [1.5, 2.0]
    assert send(Clip(5.0), vector(3.0, 4.0)).update.tolist() == [3.0, 4.0]
    assert send(Clip(5.0), vector(0.0, 0.0)).update.tolist() == [0.0, 0.0]
    assert send(Clip(1.0), vector(3e30, 4e30)).update.tolist() == pytest.approx([0.6, 0.8])
    assert send(Clip(1.0), vector(3.0, 4.0)).bits == 64


@given(vectors, st.floats(1e-3, 1e3))
def test_clipping_bounds_the_norm_and_keeps_the_direction(u: npt.NDArray[np.float64], norm: float) -> None:
    sent = send(Clip(norm), torch.from_numpy(u)).update.numpy()
    length = float(np.linalg.norm(u))
    assert np.linalg.norm(sent) <= norm * (1 + 1e-12)
    assert sent * length == pytest.approx(u * min(length, norm), rel=1e-9, abs=1e-9)


def test_noise_is_of_the_bound_times_the_multiplier() -> None:
    update = torch.full((200_000,), 1.0)
    part = ClipAndNoise(norm=2.0, noise=1.5)
    sent = send(part, update)
    noise = sent.update - update * (2.0 / math.sqrt(200_000))
    assert float(noise.std()) == pytest.approx(3.0, rel=0.01)
    assert float(noise.mean()) == pytest.approx(0.0, abs=0.04)
    assert sent.bits == 32 * 200_000
    drawn = stream(0, "send", 1, 0).standard_normal(200_000)
    assert noise.numpy() == pytest.approx(3.0 * drawn, abs=1e-5)
    silent = send(ClipAndNoise(norm=2.0, noise=0.0), update).update
    assert torch.equal(silent, send(Clip(2.0), update).update)


def test_quantize_by_hand() -> None:
    """Two bits are -1, 0 and 1 times the largest; a number between two goes up with its own chance."""
    update = vector(-4.0, 0.0, 1.0, 3.0, 4.0)
    for number, expected in ((0.0, [-4, 0, 0, 0, 4]), (0.5, [-4, 0, 0, 4, 4]), (0.9, [-4, 0, 4, 4, 4])):
        draw = Same(np.random.PCG64(0))
        draw.number = number
        sent = Quantize(2).send({}, update, 0, draw)
        assert sent.update.tolist() == expected
        assert sent.bits == 2 * 5 + 32
    one = send(Quantize(1), update).update
    assert one.abs().tolist() == [4.0] * 5
    assert send(Quantize(1), torch.zeros(3)).update.tolist() == [0.0] * 3


@given(vectors, st.sampled_from([1, 2, 3, 4, 8]))
def test_quantization_is_unbiased_and_of_few_levels(u: npt.NDArray[np.float64], bits: int) -> None:
    """The mean over evenly spaced draws is the update, up to the spacing."""
    draw, number = Same(np.random.PCG64(0)), 200
    sent = []
    for i in range(number):
        draw.number = (i + 0.5) / number
        sent.append(Quantize(bits).send({}, torch.from_numpy(u), 0, draw).update.numpy())
    levels = max(1, 2**bits - 2)
    step = 2 * float(np.abs(u).max()) / levels
    assert np.mean(sent, axis=0) == pytest.approx(u, abs=step / number + 1e-5)
    assert np.abs(np.array(sent) - u).max() <= step * (1 + 1e-6) + 1e-40
    assert len(np.unique(sent)) <= levels + 1


def test_quantization_is_unbiased_with_real_draws() -> None:
    update = torch.linspace(-1, 1, 41, dtype=torch.float64)
    draw = stream(0, "send")
    total = sum(Quantize(3).send({}, update, 0, draw).update for _ in range(4000))
    assert isinstance(total, torch.Tensor)
    assert float((total / 4000 - update).abs().max()) < 5 * (1 / 6) / math.sqrt(4000)  # sd <= half a step


def test_a_scale_that_is_no_float32_is_rounded_up() -> None:
    update = torch.tensor([0.1, -0.1, 1e-60], dtype=torch.float64)
    sent = send(Quantize(16), update).update
    assert float((sent - update).abs().max()) <= 2 * 0.1000001 / (2**16 - 2)
    assert float(sent.abs().max()) == pytest.approx(0.1, rel=1e-3)
    assert float(sent.abs().max()) <= float(np.nextafter(np.float32(0.1), np.float32(1)))


def test_top_k_by_hand() -> None:
    first = send(TopK(0.5), vector(1.0, -3.0, 2.0, -2.0))
    assert first.update.tolist() == [0.0, -3.0, 2.0, 0.0]  # of 2 and -2 the first
    assert first.state["error"].tolist() == [1.0, 0.0, 0.0, -2.0]
    assert first.bits == 2 * (32 + 32)
    second = send(TopK(0.5), vector(1.0, 1.0, 1.0, 1.0), state=first.state)
    assert second.update.tolist() == [2.0, 1.0, 0.0, 0.0]
    assert second.state["error"].tolist() == [0.0, 0.0, 1.0, -1.0]
    assert first.state["error"].tolist() == [1.0, 0.0, 0.0, -2.0]
    assert send(TopK(0.01), torch.ones(250)).bits == 3 * 64
    assert send(TopK(0.01), torch.ones(3, dtype=torch.float64)).bits == 96


@given(st.integers(1, 12), st.integers(1, 6), st.sampled_from([0.01, 0.1, 0.3, 0.5, 1.0]), st.data())
def test_what_is_not_sent_now_is_sent_later(d: int, rounds: int, share: float, data: st.DataObject) -> None:
    """All that was sent and the memory make up all updates; each round sends the largest entries."""
    updates = data.draw(arrays(np.float64, (rounds, d), elements=st.integers(-50, 50).map(float)))
    state: dict[str, torch.Tensor] = {}
    total = np.zeros(d)
    count = max(1, math.floor(share * d + 0.5))
    for update in updates:
        wanted = update + (state["error"].numpy() if state else 0.0)
        sent = send(TopK(share), torch.from_numpy(update), state=state)
        largest = sorted(range(d), key=lambda i: -abs(wanted[i]))[:count]
        expected = np.where(np.isin(np.arange(d), largest), wanted, 0.0)
        assert sent.update.tolist() == expected.tolist()
        assert sent.bits == count * 96
        state, total = dict(sent.state), total + sent.update.numpy()
    assert (total + state["error"].numpy()).tolist() == updates.sum(0).tolist()


def test_attacks_change_only_the_updates_of_the_listed() -> None:
    update = vector(1.0, -2.0)
    attacks: list[Transform] = [SignFlip((1, 3), 2.0), NoiseAttack((1, 3), 5.0), ScaledAttack((1, 3), 4.0)]
    for part in attacks:
        for client in (0, 2, 4):
            assert send(part, update, client).update.tolist() == [1.0, -2.0]
        assert send(part, update, 3).update.tolist() != [1.0, -2.0]
        assert send(part, update, 3).bits == 64
    assert send(attacks[0], update, 1).update.tolist() == [-2.0, 4.0]
    drawn = 5.0 * stream(0, "send", 1, 3).standard_normal(2)
    assert send(attacks[1], update, 3).update.numpy() == pytest.approx(drawn)
    assert send(attacks[2], update, 3).update.tolist() == [4.0, -8.0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("clip,norm=0", "norm = 0.0: must be a positive number"),
        ("gaussian,norm=-1", "norm = -1.0: must be a positive number"),
        ("gaussian,noise=-1", "noise = -1.0: must be zero or a positive number"),
        ("quantize,bits=0", "bits = 0: must be a whole number from 1 to 16"),
        ("quantize,bits=17", "bits = 17: must be a whole number from 1 to 16"),
        ("top-k,share=0", r"share = 0.0: the share of entries sent must be in \(0, 1\]"),
        ("top-k,share=1.1", r"share = 1.1: the share of entries sent must be in \(0, 1\]"),
        ("sign-flip,clients=-1", r"clients = \(-1,\): must name clients by their numbers"),
        ("noise-attack,clients=1+1", "clients = .*none twice. Try 0"),
        ("noise-attack,std=0", "std = 0.0: must be a positive number"),
        ("scaled-attack,factor=0", "factor = 0.0: must be a positive number"),
        ("sign-flip,scale=nan", "scale = nan: must be a positive number"),
    ],
)
def test_numbers_that_are_not_right_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        build("transform", text)


def test_making_parts_imports_neither_torch_nor_numpy() -> None:
    axes = ("participation", "order", "transform")
    code = (
        "import sys; from bherd.parts.spec import build; from bherd.parts.table import TABLE\n"
        f"print([str(build(axis, name)) for axis in {axes} for name in TABLE[axis].parts])\n"
        "assert not {'torch', 'numpy', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
