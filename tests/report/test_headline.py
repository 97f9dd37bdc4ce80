"""The two sentences: right numbers, the right winner, and the right word for each gap."""

import math
from pathlib import Path
from typing import Any

import pytest

import bherd
from bherd.loop.seconds import Seconds
from bherd.report.grouping import group
from bherd.report.headline import headline
from bherd.runs.read import Line, Run

CONFIG = bherd.Config().replace(rounds=10, model="svm", order="reshuffled")


def record(
    accuracy: float | None,
    *,
    seed: int = 0,
    status: str = "complete",
    diverged_at: int | None = None,
    config: bherd.Config = CONFIG,
    **changes: Any,
) -> Run:
    """A run of ten rounds that was measured at its end, or diverged."""
    train_loss, test_loss = (None, None) if accuracy is None else (0.2, 0.3)
    seconds = Seconds(1.0, 0.0, 0.0, 0.0)
    lines = [Line(10, train_loss, test_loss, accuracy, 5, 25, 50, 100, seconds)]
    if diverged_at is not None:
        lines.append(Line(diverged_at, None, None, None, 5, 25, 50, 100, seconds, diverged=True))
    return Run(
        Path("run"), config.replace(seed=seed, **changes), "", {}, {}, tuple(lines), {"status": status}
    )


def sentences(*runs: Run) -> tuple[str, str]:
    (task,) = group(runs).tasks
    what, *who = headline(task, runs)
    return what, " ".join(who)


def seeds(accuracies: list[float], **changes: Any) -> list[Run]:
    return [record(value, seed=seed, **changes) for seed, value in enumerate(accuracies)]


def test_a_clear_winner_with_its_interval() -> None:
    what, who = sentences(
        *seeds([0.80, 0.81, 0.82], name="fedavg"), *seeds([0.85, 0.86, 0.88], name="bherd-fedavg")
    )
    assert what == "2 methods on mnist-mini, svm, case2, 5 clients, 10 rounds, 3 seeds each."
    # differences 5, 5, 6 points: mean 16/3, standard deviation 1/sqrt(3), t(0.975, 2) = 4.30265
    half_width = 4.30265 * (1 / math.sqrt(3)) / math.sqrt(3)
    assert who.startswith("bherd-fedavg alpha=0.5 ends highest, at 86.33% test accuracy. It is ahead of ")
    assert f"fedavg (81.00%) by 5.33 ± {half_width:.2f} points." in who
    assert "± is the 95% interval over 3 paired seeds." in who


def test_what_is_not_shown_to_differ_is_undecided() -> None:
    _, who = sentences(
        *seeds([0.80, 0.84, 0.82], name="fedavg"), *seeds([0.83, 0.81, 0.84], name="bherd-fedavg")
    )
    assert who.startswith(
        "bherd-fedavg alpha=0.5 ends highest, at 82.67% test accuracy. Undecided: fedavg (82.00%"
    )


def test_equal_numbers_are_equal() -> None:
    _, who = sentences(*seeds([0.8, 0.8, 0.8], name="fedavg"), *seeds([0.8, 0.8, 0.8], name="bherd-fedavg"))
    assert who.startswith("No method ends higher than")
    assert "Equal to it within 0.5 points" in who
    assert "+0.00 ± 0.00 points" in who


def test_pairing_by_seed_finds_what_the_spread_would_hide() -> None:
    base = [0.70, 0.80, 0.90]
    _, who = sentences(*seeds(base, name="fedavg"), *seeds([b + 0.01 for b in base], name="bherd-fedavg"))
    assert "It is ahead of fedavg (80.00%) by 1.00 ± 0.00 points." in who


def test_the_undecided_and_those_behind() -> None:
    _, who = sentences(
        *seeds([0.90, 0.91, 0.90], name="bherd-fedavg"),
        *seeds([0.91, 0.90, 0.90], name="random-fedavg"),
        *seeds([0.70, 0.71, 0.70], name="fedavg"),
    )
    assert "It is ahead of fedavg (70.33%) by 20.00 ± 0.00 points." in who
    assert "Undecided: random-fedavg alpha=0.5 (90.33%, +0.00 ± " in who


def test_one_seed_is_no_evidence() -> None:
    what, who = sentences(record(0.8, name="fedavg"), record(0.9, name="bherd-fedavg"))
    assert what.endswith("one seed each.")
    assert "fedavg (80.00%, −10.00 points)" in who
    assert "One seed says nothing about chance" in who


def test_a_single_run() -> None:
    what, who = sentences(record(0.8125))
    assert what.startswith("bherd-fedavg alpha=0.5 on mnist-mini")
    assert who == "bherd-fedavg alpha=0.5 ends at 81.25% test accuracy."


def test_diverged_methods_cannot_win_and_are_named() -> None:
    _, who = sentences(
        *seeds([0.8, 0.8], name="fedavg"),
        record(0.99, seed=0, name="bherd-fedavg", diverged_at=3, status="diverged"),
        record(0.99, seed=1, name="bherd-fedavg"),
    )
    assert who.startswith("fedavg ends at 80.00%")
    assert "bherd-fedavg alpha=0.5 diverged in 1 of 2 runs" in who


def test_all_diverged_and_none_finished() -> None:
    _, who = sentences(record(None, diverged_at=1, status="diverged"))
    assert who == "Every run diverged."
    _, who = sentences(record(0.5, status="interrupted"))
    assert who.startswith("No method has come to its end yet.")


def test_centralized_training_is_shown_but_does_not_compete() -> None:
    whole = CONFIG.replace(name="centralized", clients=1, partition="case1")
    runs = [*seeds([0.8, 0.81], name="fedavg"), *seeds([0.9, 0.91], config=whole)]
    (task,) = group(runs).tasks
    assert [series.label for series in task.series] == ["fedavg", "centralized"]
    assert headline(task, runs)[1].startswith("fedavg ends at 80.50%")


def test_settings_that_vary_are_part_of_the_label() -> None:
    runs = [record(0.8, lr=0.1), record(0.9, lr=0.01), record(0.7, lr=0.01, order="fixed")]
    (task,) = group(runs).tasks
    assert [series.label for series in task.series] == [
        "bherd-fedavg alpha=0.5, lr=0.1",
        "bherd-fedavg alpha=0.5, lr=0.01",
        "bherd-fedavg alpha=0.5 order=fixed, lr=0.01",
    ]


def test_other_data_is_another_task_and_twins_are_counted() -> None:
    runs = [record(0.8), record(0.8, partition="case1"), record(0.8)]
    grouping = group(runs)
    assert [task.label for task in grouping.tasks] == [
        "mnist-mini, svm, case2, 5 clients",
        "mnist-mini, svm, case1, 5 clients",
    ]
    assert grouping.repeated == [2]


@pytest.mark.parametrize("missing", [1, 2])
def test_pairs_are_made_of_common_seeds_only(missing: int) -> None:
    runs = [*seeds([0.8, 0.8, 0.8], name="fedavg"), *seeds([0.9, 0.9, 0.9][missing:], name="bherd-fedavg")]
    _, who = sentences(*runs)
    if missing == 1:
        assert "over 2 paired seeds" in who
    else:
        assert "One seed says nothing about chance" in who
