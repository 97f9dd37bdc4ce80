"""`python -m benchmarks [PART ...]`: measure, print tables, write them to benchmarks/results/.

Parts: A (SVM), B (CNN), B-long (CNN with 120 local steps), C (many clients), herding, jobs, startup
and stores. Without a name, all but B-long and jobs are measured, in a quarter of an hour. Each part has a
process of its own, in which numpy's matrix products keep to one core, so that 'one core' means one.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable

from benchmarks.tables import Table, insert_into_docs, publish

Run = Callable[[], list[Table]]


def _linear() -> list[Table]:
    from benchmarks import linear

    return linear.run()


def _cnn() -> list[Table]:
    from benchmarks import cnn

    return cnn.run()


def _cnn_long() -> list[Table]:
    from benchmarks import cnn

    return cnn.run_long()


def _crowd() -> list[Table]:
    from benchmarks import crowd

    return crowd.run()


def _herding() -> list[Table]:
    from benchmarks import herding

    return herding.run()


def _jobs() -> list[Table]:
    from benchmarks import jobs

    return jobs.run()


def _startup() -> list[Table]:
    from benchmarks import startup

    return startup.run()


def _stores() -> list[Table]:
    from benchmarks import stores

    return stores.run()


PARTS: dict[str, Run] = {
    "A": _linear,
    "B": _cnn,
    "B-long": _cnn_long,
    "C": _crowd,
    "herding": _herding,
    "jobs": _jobs,
    "startup": _startup,
    "stores": _stores,
}
SLOW = {"B-long", "jobs"}


def main() -> int:
    """Measure the parts that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--docs", action="store_true", help="put the tables into docs/performance.md")
    args = parser.parse_args()
    unknown = [part for part in args.parts if part not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if args.here:
        for part in args.parts:
            publish(part, PARTS[part]())
        return 0
    status = 0
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    for part in args.parts or [part for part in PARTS if part not in SLOW]:
        command = [sys.executable, "-m", "benchmarks", "--here", part]
        done = subprocess.run(command, env=environment, check=False)
        status |= done.returncode
        if args.docs and done.returncode == 0:
            insert_into_docs(part)
    return status


if __name__ == "__main__":
    sys.exit(main())
