"""Numbers that change over the rounds, in any part."""

import math
import pickle

import pytest
import torch

import bherd
from bherd.config import Config, MethodConfig
from bherd.errors import InputError
from bherd.methods import named
from bherd.parts.schedule import Schedule
from bherd.parts.spec import build
from bherd.selectors.herding import Herding
from bherd.servers.sgd import ServerSgd
from tests.tiny import assert_same_state, federate, tiny_task


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("linear:0.3:1.0:8", [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.0, 1.0]),
        ("linear:5:1:3", [5.0, 3.0, 1.0, 1.0]),
        ("linear:5:1:1", [1.0, 1.0]),
        ("cosine:1:0:5", [1.0, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2, 0.0, 0.0]),
        ("step:1.6:0.5:2", [1.6, 1.6, 0.8, 0.8, 0.4]),
        ("step:1:10:1", [1.0, 10.0, 100.0]),
        ("step:1:0:2", [1.0, 1.0, 0.0, 0.0]),
        ("warmup:0.8:4", [0.2, 0.4, 0.6, 0.8, 0.8]),
    ],
)
def test_the_number_of_each_round(text: str, values: list[float]) -> None:
    schedule = Schedule(text)
    assert [schedule.at(number) for number in range(1, len(values) + 1)] == pytest.approx(values, abs=1e-15)
    assert float(schedule) == schedule.at(1)
    assert str(schedule) == repr(schedule) == text


def test_a_schedule_is_equal_to_itself_alone() -> None:
    one = Schedule("linear:0.3:1.0:8")
    assert one == Schedule("linear:0.3:1.0:8") == pickle.loads(pickle.dumps(one))  # noqa: S301
    assert one != Schedule("linear:0.3:1.0:9")
    assert one != 0.3
    assert len({one, Schedule("linear:0.3:1.0:8"), Schedule("linear:0.3:1:8")}) == 2


@pytest.mark.parametrize(
    "text",
    ["linear:0.3:1.0", "linear:0.3:1.0:50:2", "linear:a:1:5", "linear:0.3:1:0", "linear:0.3:1:inf",
     "cosine:nan:1:5", "cosine::1:5", "warmup:0.3", "step:1:0.5:0"],
)  # fmt: skip
def test_what_is_no_schedule_is_refused(text: str) -> None:
    kind = text.partition(":")[0]
    with pytest.raises(InputError, match=rf"selector = .*: alpha = '{text}': a schedule is written {kind}:"):
        build("selector", f"herding,alpha={text}")


@pytest.mark.parametrize(
    ("axis", "text", "message"),
    [
        ("selector", "herding,alpha=linear:0.3:1.5:50", r"alpha = 1\.5: .*in \(0, 1\]"),
        ("selector", "herding,alpha=linear:0:1:50", r"alpha = linear:0:1:50: .*in \(0, 1\]"),
        ("selector", "herding,alpha=step:0.5:2:10", r"alpha = .*in \(0, 1\]"),
        ("server", "sgd,lr=linear:1:-1:5", r"lr = -1\.0: must be a positive number"),
        ("server", "sgd,lr=step:1:-0.5:5", r"the FACTOR of a schedule must be 0 or more\. Try 0\.5"),
        ("server", "adam,beta1=warmup:1:5", r"beta1 = 1\.0: must be in \[0, 1\)"),
        ("selector", "herding,alpha=liner:0.3:1:5", r"must be a number, or a schedule such as linear:"),
        ("transform", "quantize,bits=linear:1:8:9", r"bits = 'linear:1:8:9': must be a whole number"),
    ],
)
def test_numbers_of_later_rounds_are_checked_at_once(axis: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(axis, text)


@pytest.mark.parametrize("text", ["step:1.0:0.5:10", "step:0.01:1.1:3"])
def test_a_rate_may_halve_or_grow_for_ever(text: str) -> None:
    part = build("server", f"sgd,lr={text}")
    assert isinstance(part, ServerSgd)
    assert isinstance(part.lr, Schedule)
    assert all(0 < part.lr.at(number) < math.inf for number in (1, 1000, 10**6, 10**9))


def test_a_schedule_is_written_the_same_everywhere() -> None:
    text = "linear:0.3:1.0:50"
    expected = f"herding,alpha={text}"
    for made in (
        MethodConfig(f"bherd-fedavg,alpha={text}"),
        MethodConfig("bherd-fedavg", selector=expected),
        Config().replace(alpha=text).method,
        Config().replace(selector=expected).method,
        bherd.Config().replace(method=f"bherd-fedavg,alpha={text}").method,
    ):
        assert made.selector == expected
        assert made.alpha == Schedule(text)
    assert named("bherd-fedavg", alpha=text).selector == Herding(Schedule(text))
    assert named("bherd-fedavg", alpha=text).at(50).selector == Herding(1.0)


def test_every_round_has_its_own_number() -> None:
    """Forty samples in batches of 5 are 8 steps: alpha = 1/4, 1/2, 3/4, 1 keeps 2, 4, 6, 8 of them."""
    task = tiny_task("svm", [40])
    growing = named("bherd-fedavg", alpha="linear:0.25:1.0:4")
    run = federate(task, growing, rounds=5, batch=5)
    assert [len(kept) for kept in run.kept] == [2, 4, 6, 8, 8]
    # Each round is the one that the number itself would give: also the server makes up for this share.
    state = federate(task, named("bherd-fedavg", alpha=0.25), rounds=1, batch=5).state
    for number, alpha in enumerate((0.5, 0.75, 1.0, 1.0), start=2):
        state = federate(task, named("bherd-fedavg", alpha=alpha), rounds=number, batch=5, start=state).state
    assert torch.equal(state.params, run.params)


@pytest.mark.parametrize("engine", ["reference", "simulate"])
@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_a_run_is_taken_up_in_the_middle_of_a_schedule(engine: str, rounds: int) -> None:
    method = named(
        "bherd-fedavgm",
        alpha="linear:0.3:1.0:6",
        server="momentum,lr=cosine:1.0:0.1:6,beta=warmup:0.9:4",
        correction="proximal,mu=step:0.1:0.5:2",
    )
    task = tiny_task("svm")
    whole = federate(task, method, engine=engine, rounds=6, cohort=2)
    stopped = federate(task, method, engine=engine, rounds=rounds, cohort=2)
    again = federate(task, method, engine=engine, rounds=6, cohort=2, start=stopped.state)
    assert_same_state(again.state, whole.state)
    assert [record.round for record in again.records] == list(range(rounds + 1, 7))
