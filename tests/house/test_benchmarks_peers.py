"""What the comparison with other simulators must refuse, and how it takes time."""

from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.peers.contestants import BASELINE, CONTESTANTS, Contestant
from benchmarks.peers.environments import OURS
from benchmarks.peers.handout import accuracy, build, load, loss_of
from benchmarks.peers.measure import FailedError, Measured, Run, run_once, seconds_a_round
from benchmarks.peers.results import DisagreementError, check_agreement
from benchmarks.peers.workloads import WORKLOADS, Workload, cohort, export, task

from bherd.tasks.datasets import load_dataset


def measured(name: str, reached: float, fedavg: bool = True) -> Measured:
    contestant = Contestant(name, OURS, "with_ours", fedavg=fedavg)
    return Measured(contestant, [Run([2.0, 1.0, 4.0], 9.0, 10, reached, 0.0)])


def small(name: str) -> Workload:
    """A workload on the bundled digits, dealt to ten clients."""
    chosen = WORKLOADS[name]
    config = chosen.config.replace(dataset="mnist-mini", clients=10, rounds=3)
    return chosen._replace(config=config)


def test_rounds_are_timed_from_end_to_end_without_the_first() -> None:
    assert seconds_a_round([5.0, 6.0, 8.0]) == [1.0, 2.0]


def test_many_short_rounds_are_timed_by_ten() -> None:
    ends = np.arange(100) * 0.5
    assert seconds_a_round(ends.tolist()) == [0.5] * 9


def test_the_minimum_and_the_median_count() -> None:
    one = measured("a", 0.9)
    assert (one.minimum, one.median) == (1.0, 2.0)


def test_different_accuracies_are_refused() -> None:
    with pytest.raises(DisagreementError, match="b"):
        check_agreement([measured("a", 0.9), measured("b", 0.91)])


def test_a_method_that_is_not_fedavg_may_differ() -> None:
    agreed = check_agreement([measured("a", 0.9), measured("b", 0.901), measured("c", 0.5, fedavg=False)])
    assert agreed == (0.9, 0.901)


def test_ours_is_the_baseline() -> None:
    assert [one.environment for one in CONTESTANTS if one.name == BASELINE] == [OURS]


def test_a_contestant_that_fails_is_reported_with_its_last_words() -> None:
    nobody = Contestant("nobody", OURS, "with_nobody")
    with pytest.raises(FailedError, match=r"nobody on A ended with 1[\s\S]*No module named"):
        run_once(WORKLOADS["A"], nobody, Path("A.npz"))


def test_a_contestant_is_stopped_when_its_time_is_up() -> None:
    ours = next(one for one in CONTESTANTS if one.name == BASELINE)
    with pytest.raises(FailedError, match=r"ended with -\d+ after"):
        run_once(WORKLOADS["A"]._replace(minutes=0.001), ours, Path("A.npz"))


@pytest.mark.parametrize("name", ["A", "C"])
def test_others_are_handed_our_own_task(name: str, tmp_path: Path) -> None:
    workload = small(name)
    threads = torch.get_num_threads()
    handout = load(str(export(workload, tmp_path)))
    torch.set_num_threads(threads)
    own = task(workload)
    assert own.model.decay == 0
    assert handout.cohorts == [cohort(workload, number).tolist() for number in (1, 2, 3)]
    for client in range(10):
        x, y = own.samples(client)
        assert torch.equal(handout.clients[client][0], x)
        assert torch.equal(handout.clients[client][1], y)
        assert sum(len(batch[1]) for batch in handout.batches(client)) == handout.size(client)
    module = build(handout)
    assert all(
        torch.equal(a, b) for a, b in zip(module.parameters(), own.model.module.parameters(), strict=True)
    )
    torch.nn.init.normal_(next(module.parameters()), generator=torch.Generator().manual_seed(0))
    outputs = module(own.x_test)
    assert torch.equal(loss_of(handout)(outputs, own.y_test), own.model.loss(outputs, own.y_test))
    assert accuracy(module, handout.test) == int(own.model.hits(outputs, own.y_test)) / len(own.y_test)
    assert len(handout.test[1]) == len(load_dataset("mnist-mini").y_test)
