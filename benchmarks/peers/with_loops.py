"""The hand-written loops of our own benchmarks, as one more contestant each."""

import sys
from pathlib import Path

import torch

from benchmarks.loops.numpy_loop import NumpyLoop
from benchmarks.loops.torch_loops import PlainLoop, TightLoop
from benchmarks.peers.handout import Clock, report
from benchmarks.peers.workloads import WORKLOADS, cohort, task

LOOPS: dict[str, type[NumpyLoop] | type[TightLoop] | type[PlainLoop]] = {
    "numpy": NumpyLoop,
    "tight": TightLoop,
    "plain": PlainLoop,
}


def main(path: str, loop: str) -> None:
    """Run the workload that the file is named after."""
    workload = WORKLOADS[Path(path).stem]
    torch.set_num_threads(workload.threads)
    train, every = workload.config.train, workload.config.run.eval_every
    cohorts = iter([cohort(workload, number + 1).tolist() for number in range(train.rounds)])
    contestant = LOOPS[loop](
        task(workload), train.batch_size, train.lr, lambda: next(cohorts), evaluate=False
    )
    clock = Clock()
    for number in range(1, train.rounds + 1):
        contestant.evaluate = number % every == 0 or number == train.rounds
        contestant.round()
        clock.round_over(contestant.accuracies[-1] if contestant.evaluate else None)
    report(clock)


if __name__ == "__main__":
    main(*sys.argv[1:])
