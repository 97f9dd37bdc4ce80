"""How long a step is beside FedAvg's, and what a run says of it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import bherd
from bherd import methods
from bherd.method import Method
from bherd.step_length import Step, times_fedavg
from bherd.step_measure import measured_step, planned_step
from tests.command_line import run
from tests.tiny import CATALOGUE, federate, tiny_task


def planned(method: Method, sizes: list[int], epochs: float = 1.0) -> Step:
    step = planned_step(method, sizes, batch_size=10, epochs=epochs)
    assert step is not None
    return step


@pytest.mark.parametrize(
    ("method", "share", "length"),
    [
        # 10 and 30 samples in batches of 10: tau = 1 and 3, p = 1/4 and 3/4; alpha = 0.5 keeps 1 and 2.
        # FedAvg goes 1/4 x 1 + 3/4 x 3 = 2.5, the kept sums 1/4 x 1 + 3/4 x 2 = 1.75.
        (methods.named("fedavg"), 1.0, 1.0),
        (methods.named("fedavg", server_lr=2.0), 1.0, 2.0),
        (methods.named("scaffold"), 1.0, 1.0),
        (methods.named("fednova"), 1.0, 1.0),
        (methods.named("bherd-fedavg", alpha=0.5), 0.75, 2 * 1.75 / 2.5),
        (methods.named("bherd-fedavg", alpha=0.5, step="amplified"), 0.75, 2.0),
        (methods.named("bherd-fedavg", alpha=0.5, step="matched"), 0.75, 1.0),
        (methods.named("random-scaffold", alpha=0.5), 0.75, 1.4),
        (methods.named("bherd-fednova", alpha=0.5), 0.75, 1.0),
        (methods.named("bherd-fednova", alpha=0.5, step="amplified"), 0.75, 2.0),
        (methods.named("bherd-fedavg", alpha=0.5, server_lr=0.5), 0.75, 0.7),
    ],
)
def test_the_planned_step_by_hand(method: Method, share: float, length: float) -> None:
    step = planned(method, [10, 30])
    assert step.kept_share == share
    assert step.length == pytest.approx(length, rel=1e-12)


def test_the_factor_e_makes_the_step_longer_than_fedavg_s_with_as_many_epochs() -> None:
    """Twenty samples, E = 2: four steps, two kept, and E / alpha = 4."""
    assert planned(methods.named("bherd-fedavg", alpha=0.5), [20], epochs=2.0).length == 2.0
    assert planned(methods.named("bherd-fedavg", alpha=0.5, step="matched"), [20], epochs=2.0).length == 1.0


def test_what_grab_keeps_is_not_known_before() -> None:
    assert planned_step(methods.named("grab-fedavg"), [10, 30], batch_size=10, epochs=1.0) is None


@pytest.mark.parametrize("name", [name for name in CATALOGUE if name.startswith("none-")])
@pytest.mark.parametrize("epochs", [1.0, 2.0])
def test_the_length_is_that_of_the_real_step_where_gradients_are_equal(name: str, epochs: float) -> None:
    """A linear loss has the same gradient everywhere, so both steps are that vector times their lengths."""
    task = tiny_task("svm", [10, 25, 43])
    loss = task.model._replace(loss=lambda outputs, _targets: outputs.mean(), decay=0.0)
    task = task._replace(model=loss, x_train=torch.ones_like(task.x_train))
    method = CATALOGUE[name]
    ran = federate(task, method, engine="reference", rounds=1, epochs=epochs)
    fedavg = federate(task, methods.named("fedavg"), engine="reference", rounds=1, epochs=epochs)
    reports = [outcome.report for outcome in ran.records[0].outcomes]
    measured = measured_step(
        method,
        [10, 25, 43],
        epochs,
        np.array([report.client for report in reports]),
        np.array([report.steps for report in reports]),
        np.array([report.kept for report in reports]),
    )
    assert measured is not None
    torch.testing.assert_close(ran.params, measured.length * fedavg.params, rtol=1e-10, atol=1e-14)
    before = planned_step(method, [10, 25, 43], batch_size=10, epochs=epochs)
    if before is not None:
        assert before.length == pytest.approx(measured.length, rel=1e-12)
        assert (before.kept_share, before.note) == (measured.kept_share, measured.note)


def test_a_measured_step_counts_clients_as_often_as_they_took_part() -> None:
    """Client 0 (one step, p = 1/4) three times, client 1 (four steps, two kept, p = 3/4) once."""
    rows = (np.array([0, 0, 1, 0]), np.array([1, 1, 4, 1]), np.array([1, 1, 2, 1]))
    step = measured_step(methods.named("bherd-fedavg", alpha=0.5), [10, 30], 1.0, *rows)
    assert step is not None
    assert step.kept_share == 5 / 7
    assert step.length == pytest.approx(2 * (3 * 10 * 1 + 30 * 2) / (3 * 10 * 1 + 30 * 4))
    nothing = np.zeros(0, np.int64)
    assert (
        measured_step(methods.named("bherd-fedavg", alpha=0.5), [10], 1.0, nothing, nothing, nothing) is None
    )


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (1, "at alpha = 0.5 these clients keep 100% of their steps: the step is 2.0 times FedAvg's"),
        (3, "at alpha = 0.5 these clients keep 67% of their steps: the step is 1.33 times FedAvg's"),
        (9, "at alpha = 0.5 these clients keep 56% of their steps: the step is 1.11 times FedAvg's"),
        (11, None),  # 6 of 11 is 9% more than half
        (10, None),
    ],
)
def test_a_share_that_is_off_by_more_than_a_tenth_is_told(steps: int, told: str | None) -> None:
    assert planned(methods.named("bherd-fedavg", alpha=0.5), [10 * steps] * 4).note == told


def test_the_matched_step_is_told_to_be_fedavg_s() -> None:
    note = planned(methods.named("bherd-fedavg", alpha=0.5, step="matched"), [10]).note
    assert note is not None
    assert note.endswith("the step is as long as FedAvg's")


def test_plain_methods_have_nothing_to_tell() -> None:
    assert planned(methods.named("fedavg"), [10]).note is None


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (2.0, "2.0 times FedAvg's"),
        (1.4, "1.4 times FedAvg's"),
        (4 / 3, "1.33 times FedAvg's"),
        (1.004, "as long as FedAvg's"),
        (0.5, "0.5 times FedAvg's"),
    ],
)
def test_lengths_in_words(length: float, words: str) -> None:
    assert times_fedavg(length) == words


SMALL = ("--clients", "100", "--partition", "case1", "--lr", "1e-3", "--rounds", "2", "--workers", "1")


@pytest.mark.usefixtures("empty_folder")
def test_a_run_says_so_once_at_its_start_and_in_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    """Fifty samples each, batches of a hundred: one step per client."""
    assert run("run", "--method", "bherd-fedavg", *SMALL, "--out", "r") == 0
    printed = capsys.readouterr().out
    told = "at alpha = 0.5 these clients keep 100% of their steps: the step is 2.0 times FedAvg's"
    assert printed.splitlines()[1] == f"note: {told}"
    assert printed.count(told) == 1
    summary = json.loads(Path("r/summary.json").read_text())
    assert summary["step"] == {"kept_share": 1.0, "asked_share": 0.5, "length": 2.0, "note": told}


@pytest.mark.usefixtures("empty_folder")
def test_a_run_that_keeps_its_share_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "--method", "bherd-fedavg", "--lr", "1e-3", "--rounds", "2", "--out", "r") == 0
    assert "note:" not in capsys.readouterr().out
    step = json.loads(Path("r/summary.json").read_text())["step"]
    assert (step["kept_share"], step["length"], step["note"]) == (0.5, pytest.approx(1.0), None)


def test_with_one_step_the_equation_is_fedavg_at_twice_the_step() -> None:
    """What the note warns of, to the bit; and the matched step is FedAvg."""
    base = bherd.Config().replace(clients=100, partition="case1", rounds=2, lr=1e-3)
    with pytest.warns(UserWarning, match="these clients keep 100% of their steps"):
        herded = bherd.simulate(base.replace(name="bherd-fedavg"))
    longer = bherd.simulate(base.replace(name="fedavg", order="fixed", server_lr=2.0))
    assert torch.equal(herded.params, longer.params)
    with pytest.warns(UserWarning, match="as long as FedAvg's"):
        matched = bherd.simulate(base.replace(name="bherd-fedavg", step="matched"))
    plain = bherd.simulate(base.replace(name="fedavg", order="fixed"))
    assert torch.equal(matched.params, plain.params)
