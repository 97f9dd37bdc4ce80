"""Our own run of a workload: in memory, or into a directory with metrics, ledger and checkpoints."""

import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.peers.handout import Clock, report
from benchmarks.peers.workloads import WORKLOADS, session
from bherd import simulate
from bherd.loop.rounds import Round
from bherd.runs.life import run
from bherd.session import Session


def in_memory(own: Session, clock: Clock) -> None:
    """As from Python."""

    def over(record: Round) -> None:
        clock.round_over(record.evaluation.test_accuracy if record.evaluation else None)

    simulate(own.config, task=own.task, on_round=over)


def into_directory(own: Session, clock: Clock) -> None:
    """As `bherd run` does it."""

    def over(line: dict[str, Any]) -> None:
        clock.round_over(line["test_accuracy"])

    with tempfile.TemporaryDirectory() as folder:
        run(own, Path(folder) / "run", over)


def main(path: str, method: str, where: str) -> None:
    """Run the workload that the file is named after."""
    clock = Clock()
    own = session(WORKLOADS[Path(path).stem], method)
    {"memory": in_memory, "directory": into_directory}[where](own, clock)
    report(clock)


if __name__ == "__main__":
    main(*sys.argv[1:])
