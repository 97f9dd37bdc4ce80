"""Dropped classes: a herd that drops one is found, a random share is not accused, few rounds say nothing."""

from pathlib import Path

import numpy as np
import pytest

import bherd
from bherd.report.dropped import DRAWS, FEWEST_ROUNDS, Evidence, dropped
from bherd.report.fairness import Fairness, fairness, training_labels
from bherd.report.herd import read_ledger
from bherd.runs.life import run
from bherd.runs.read import read_run

LABELS = np.random.default_rng(0).multinomial(10, [0.6, 0.3, 0.1], size=12)
"""The labels of twelve batches of ten samples."""


def clients(rounds: int, count: int, seed: int = 0, *, shuffled: bool = False) -> list[Evidence]:
    """Clients that keep a random half of their steps."""
    random = np.random.default_rng([1, seed])
    made = []
    for client in range(count):
        kept = random.permuted(np.tile(np.arange(12) < 6, (rounds, 1)), axis=1)
        labels = random.multinomial(10, [0.6, 0.3, 0.1], size=(rounds if shuffled else 1, 12))
        made.append(Evidence(client, kept, labels))
    return made


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("rounds", [1, 2, FEWEST_ROUNDS, 40])
def test_random_shares_are_accused_in_at_most_one_run_in_twenty(rounds: int, shuffled: bool) -> None:
    results = [dropped(clients(rounds, 20, seed, shuffled=shuffled)) for seed in range(60)]
    assert sum(bool(found.dropped) for found in results) <= 6
    if rounds < FEWEST_ROUNDS:
        assert all(found == ([], 0.0, 0) for found in results)
    else:
        assert all(found.by_chance < 0.2 and found.tested == 20 for found in results)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_herd_that_avoids_a_class_is_found_among_many(shuffled: bool) -> None:
    evidence = clients(20, 20, shuffled=shuffled)
    labels = np.broadcast_to(evidence[7].labels, (20, 12, 3))
    fewest = np.argsort(labels[:, :, 2], axis=1).argsort(axis=1) < 6
    evidence[7] = Evidence(7, fewest, evidence[7].labels)
    (found,) = dropped(evidence).dropped
    assert (found.client, found.label) == (7, 2)
    kept, held = labels[:, :, 2][fewest].sum(), labels[:, :, 2].sum()
    assert found.rate == pytest.approx(kept / held / 0.5, rel=1e-5)
    assert found.rounds_below >= 0.75


def test_the_same_runs_give_the_same_found() -> None:
    assert dropped(clients(12, 5)) == dropped(clients(12, 5))
    assert DRAWS % 20 == 19  # one in twenty of the draws and the run itself is a whole number


def test_all_kept_and_one_step_drop_nothing() -> None:
    whole = Evidence(0, np.ones((12, 12), dtype=np.bool_), LABELS[None])
    single = Evidence(1, np.ones((12, 1), dtype=np.bool_), LABELS[None, :1])
    assert dropped([whole, single]) == ([], 0.0, 2)


def looked_at(path: Path, **changes: object) -> Fairness:
    config = bherd.Config().replace(
        model="logistic", partition="dirichlet:0.3", clients=20, lr=0.01, eval_every=100, workers=1, **changes
    )
    run(config, path)
    record = read_run(path)
    ledger, labels = read_ledger(record), training_labels([config])[0]
    assert ledger is not None
    assert not isinstance(labels, str)
    found = fairness(config, ledger, record.partition(), labels, ledger.clients)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["bherd-fedavg", "random-fedavg"])
def test_clients_that_sit_out_are_not_tested_on_two_rounds(tmp_path: Path, name: str) -> None:
    found = looked_at(tmp_path / "run", name=name, cohort=0.1, rounds=20)
    assert (found.dropped, found.tested) == ([], 0)


def test_at_full_participation_the_herd_drops_classes_and_a_random_share_does_not(tmp_path: Path) -> None:
    herd = looked_at(tmp_path / "herd", name="bherd-fedavg", rounds=40)
    drawn = looked_at(tmp_path / "random", name="random-fedavg", rounds=40)
    assert len(herd.dropped) >= 10
    assert herd.by_chance < 0.2
    assert drawn.dropped == []
