"""What a selector may answer: everything else is one clear error, from whichever side it is called."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import bherd
from bherd.errors import InputError
from bherd.loop.kept import checked
from bherd.method import Method
from bherd.parts.records import Kept
from bherd.selectors.base import Selector
from bherd.selectors.herding import Herding
from tests.tiny import federate, tiny_task

STEPS = 4
ANSWERS: dict[str, tuple[Any, str]] = {
    "nothing": (None, r"gave a NoneType: must be Kept\(indices\)"),
    "an array": (np.array([0, 1]), r"gave a ndarray: must be Kept\(indices\)"),
    "a mask": (
        Kept(np.array([True, False, True, False])),
        r"gave indices of type bool: must be whole numbers; for a mask use np\.flatnonzero\(mask\)",
    ),
    "floats": (Kept(np.array([0.0, 1.0])), r"gave indices of type float64: must be whole numbers"),
    "none kept": (Kept(np.array([], dtype=np.int64)), r"gave indices of shape \(0,\): .*at least one step"),
    "a table": (Kept(np.array([[0], [1]])), r"gave indices of shape \(2, 1\)"),
    "a double": (Kept(np.array([1, 0, 1])), r"gave a step twice: .*give it a weight instead"),
    "-1": (Kept(np.array([0, -1])), r"gave indices from -1 to 0: must be steps from 0 to 3"),
    "one too far": (Kept(np.array([4])), r"gave indices from 4 to 4: must be steps from 0 to 3"),
    "weights without saying so": (
        Kept(np.array([0, 1]), np.array([1.0, 2.0])),
        r"gave weights without saying weighted = True: must be as its class says",
    ),
}
WEIGHTS: dict[str, tuple[Any, str]] = {
    "none of them": (None, r"gave no weights: must be as its class says"),
    "too few": (np.array([1.0]), r"gave weights .*: must be one finite number of zero or more per kept step"),
    "a negative one": (np.array([1.0, -0.5]), r"gave weights .*zero or more"),
    "NaN": (np.array([1.0, np.nan]), r"gave weights .*finite"),
    "all zero": (np.array([0.0, 0.0]), r"gave weights .*not all zero"),
}


@dataclass(frozen=True)
class Says(Selector):
    """A user's selector that answers what the test wants."""

    ANSWER: ClassVar[Any] = None

    def select(self, trace: Tensor, stream: np.random.Generator) -> Kept:
        del trace, stream
        answer: Kept = self.ANSWER
        return answer


@dataclass(frozen=True)
class SaysWeights(Says):
    """The same, with weights."""

    weighted: ClassVar[bool] = True


@pytest.mark.parametrize("kind", ANSWERS)
def test_what_is_no_choice_is_refused_with_the_reason(kind: str) -> None:
    answer, message = ANSWERS[kind]
    with pytest.raises(InputError, match=rf"^selector herding,alpha=0\.5 {message}.*\.$"):
        checked(Herding(0.5), answer, STEPS)


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("engine", ["reference", "simulate"])
def test_it_is_refused_in_a_run_too(kind: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the user's own name of the selector, before anything was aggregated."""
    answer, _ = ANSWERS[kind]
    monkeypatch.setattr(Says, "ANSWER", answer)
    with pytest.raises(InputError, match=r"^selector tests\.loop\.test_checked:Says gave "):
        federate(tiny_task("svm", [40]), Method(Says()), engine=engine)


@pytest.mark.parametrize("kind", ANSWERS)
def test_and_by_the_collector(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Says, "ANSWER", ANSWERS[kind][0])
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    collector = bherd.Collector(model, optimizer, selector=Says())
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.autograd.backward(model(torch.ones(1, 2)).sum())
        optimizer.step()
    with pytest.raises(InputError, match=r"^selector tests"):
        collector.herd()


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_that_cannot_be_used_are_refused(kind: str) -> None:
    weights, message = WEIGHTS[kind]
    with pytest.raises(InputError, match=rf"^selector tests\.loop\.test_checked:SaysWeights {message}.*\.$"):
        checked(SaysWeights(), Kept(np.array([0, 2]), weights), STEPS)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_good_answers_come_back_as_they_were(dtype: type) -> None:
    kept = checked(Herding(0.5), Kept(np.array([2, 0], dtype=dtype)), STEPS)
    assert kept.indices.dtype == np.int64
    assert kept.indices.tolist() == [2, 0]
    assert kept.weights is None
    listed = checked(Herding(0.5), Kept([3, 1]), STEPS)  # type: ignore[arg-type]  # as users write it
    assert listed.indices.tolist() == [3, 1]
    weighted = checked(SaysWeights(), Kept(np.array([3, 1]), np.array([0, 2])), STEPS)
    assert weighted.weights is not None
    assert weighted.weights.tolist() == [0.0, 2.0]
    assert weighted.weights.dtype == np.float64


def test_weights_count_in_the_sum_and_in_its_divisor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the first step and half of the last: the report counts 2.5 steps."""
    monkeypatch.setattr(Says, "ANSWER", Kept(np.array([0, 3]), np.array([2.0, 0.5])))
    (outcome,) = federate(tiny_task("svm", [40]), Method(SaysWeights()), rounds=1).records[0].outcomes
    assert (outcome.report.kept, outcome.report.kept_weight, outcome.report.counted) == (2, 2.5, 2.5)
    single = []
    for step in (0, 3):
        monkeypatch.setattr(Says, "ANSWER", Kept(np.array([step])))
        (one,) = federate(tiny_task("svm", [40]), Method(Says()), rounds=1).records[0].outcomes
        single.append(one.report.update)
    torch.testing.assert_close(outcome.report.update, 2 * single[0] + 0.5 * single[1])
