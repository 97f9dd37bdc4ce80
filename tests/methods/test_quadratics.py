"""Every part and every named method takes a quadratic federation to its known optimum or its known bias."""

from functools import cache

import pytest
import torch
from torch import Tensor

from bherd.methods import named
from bherd.parts.presets import PRESETS, base_of_preset
from bherd.parts.table import TABLE
from tests.covering import method
from tests.quadratic import MEANS, NOISE, START, STEPS, federate, geometric_median, mean_of

OPTIMUM = MEANS.mean(0)
KRUM = int(torch.cdist(MEANS, MEANS).square().sort(dim=1).values[:, 1:4].sum(1).argmin())
"""Whose three nearest neighbours are nearest: updates differ as the clients' own optima do, wherever w is."""


def as_named(axis: str) -> dict[str, str]:
    """Every part of an axis with its defaults."""
    return {name: name for name in TABLE[axis].parts}


CASES: dict[str, dict[str, str]] = {
    "participation": {**as_named("participation"), "listed": "listed,clients=0+2+3"},
    "order": as_named("order"),
    "optimizer": {"sgd": "sgd", "momentum": "sgd,momentum=0.5", "decay": "sgd,weight_decay=0.25"},
    "correction": {**as_named("correction"), "proximal": "proximal,mu=0.5", "dynamic": "dynamic,mu=0.5"},
    "selector": as_named("selector"),
    "transform": {
        **as_named("transform"),
        "clip": "clip,norm=2.0",
        "gaussian": "gaussian,norm=2.0,noise=0.05",
        "quantize": "quantize,bits=6",
        "top-k": "top-k,share=0.34",
        "sign-flip": "sign-flip,clients=4",
        "noise-attack": "noise-attack,clients=4,std=0.1",
        "scaled-attack": "scaled-attack,clients=4,factor=3.0",
    },
    "aggregation": {**as_named("aggregation"), "trimmed": "trimmed,share=0.2"},
    "server": {
        **as_named("server"),
        "adagrad": "adagrad,lr=1.0",
        "extrapolation": "extrapolation,eps=0.1",
    },
    "shipped": as_named("shipped"),
}


@cache
def biases() -> dict[str, Tensor]:
    """Where parts come to rest that do not at the optimum, by hand."""
    ordered = MEANS.sort(dim=0).values
    return {
        "participation=listed": mean_of([0, 2, 3]),
        "optimizer=decay": OPTIMUM / 1.25,  # w - m + w / 4 = 0
        # all updates are longer than the norm: unit vectors remain
        "transform=clip": geometric_median(),
        "transform=gaussian": geometric_median(),
        "transform=sign-flip": mean_of(range(5), [1, 1, 1, 1, -1]),
        "transform=noise-attack": mean_of(range(4)),  # client 4 pulls nowhere: 4/5 of a step
        "transform=scaled-attack": mean_of(range(5), [1, 1, 1, 1, 3]),
        "aggregation=median": ordered[2],
        "aggregation=trimmed": ordered[1:4].mean(0),
        "aggregation=krum": MEANS[KRUM],
        "aggregation=geometric-median": geometric_median(),
    }


NOISY = {"participation": 0.3, "transform": 0.1}
"""How far the mean of the last rounds may be from there, where rounds differ by chance."""


def test_every_part_has_its_case() -> None:
    assert {axis: set(row.parts) for axis, row in TABLE.items()} == {
        axis: {text.partition(",")[0] for text in cases.values()} for axis, cases in CASES.items()
    }
    assert biases().keys() <= {f"{axis}={name}" for axis, cases in CASES.items() for name in cases}
    for case, place in biases().items():
        assert float((place - OPTIMUM).norm()) > 2 * NOISY.get(case.partition("=")[0], NOISE), case


@pytest.mark.parametrize(("axis", "name"), [(axis, name) for axis, cases in CASES.items() for name in cases])
def test_every_part_comes_to_rest_where_it_should(axis: str, name: str) -> None:
    cohort = 3 if axis == "participation" else len(MEANS)
    end = federate(method({axis: CASES[axis][name]}), rounds=120, cohort=cohort)
    expected = biases().get(f"{axis}={name}", OPTIMUM)
    assert float((end - expected).norm()) < NOISY.get(axis, NOISE)


REFINED = {"fedadagrad": {"server": "adagrad,lr=1.0"}, "fedexp": {"server": "extrapolation,eps=0.1"}}
BIASED = {"fedmedian": "aggregation=median", "krum": "aggregation=krum"}


@pytest.mark.parametrize("name", PRESETS)
def test_every_named_method_comes_to_rest_where_it_should(name: str) -> None:
    """Selection moves it by no more than the samples differ."""
    base = base_of_preset(name)
    end = federate(named(name, **REFINED.get(base, {})))
    expected = biases()[BIASED[base]] if base in BIASED else OPTIMUM
    assert float((end - expected).norm()) < 2 * NOISE
    assert float((START - expected).norm()) > 60 * NOISE


def test_the_matched_step_goes_as_fast_as_fedavg() -> None:
    """Four steps at 0.1 leave (1 - 0.1)^4 of the way; whatever is kept, and the others by what they say."""
    left = 0.9**STEPS
    way = START - OPTIMUM
    for text in ("fedavg", "bherd-fedavg,step=matched", "random-fedavg,alpha=0.25,step=matched"):
        after = federate(named(text), rounds=1) - OPTIMUM
        assert float((after - left * way).norm()) < 0.1 * float(way.norm())
    doubled = federate(named("bherd-fedavg,step=amplified"), rounds=1) - OPTIMUM
    assert float((doubled - (1 - 2 * (1 - left)) * way).norm()) < 0.2 * float(way.norm())
