"""Run other simulators, hand-written loops and ours on the same workloads, back to back.

    python -m benchmarks.peers              # all three workloads, 3 runs of each
    python -m benchmarks.peers A C --repeats 1 --docs

Each simulator is installed into an environment of its own, in .peers or $BHERD_PEERS, the first time.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from benchmarks.peers.contestants import BASELINE, CONTESTANTS
from benchmarks.peers.environments import install
from benchmarks.peers.measure import FailedError, measure
from benchmarks.peers.results import DisagreementError, check_agreement, tables
from benchmarks.peers.workloads import WORKLOADS, export
from benchmarks.tables import insert_into_docs, publish


def main() -> int:
    """Install what is missing, measure, check that all agree, and publish."""
    names = [contestant.name for contestant in CONTESTANTS]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--repeats", type=int, default=3, help="runs of each contestant (%(default)s)")
    only = "run this one and ours, and publish nothing; repeatable: " + ", ".join(names)
    parser.add_argument("--only", action="append", choices=names, metavar="NAME", help=only)
    parser.add_argument("--docs", action="store_true", help="put the tables into docs/performance.md")
    args = parser.parse_args()
    unknown = [name for name in args.workloads if name not in WORKLOADS]
    if unknown:
        parser.error(f"no such workload: {', '.join(unknown)}; there are {', '.join(WORKLOADS)}")
    if args.repeats < 1:
        parser.error(f"--repeats is {args.repeats}, but it must be at least 1")
    chosen = [one for one in CONTESTANTS if args.only is None or one.name in {*args.only, BASELINE}]
    for environment in dict.fromkeys(one.environment for one in chosen):
        install(environment)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended too
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in args.workloads or WORKLOADS:
            workload = WORKLOADS[name]
            able = [one for one in chosen if name in one.workloads]
            try:
                results[name] = measure(workload, able, export(workload, Path(folder)), args.repeats)
                check_agreement(results[name])
            except (FailedError, DisagreementError) as error:
                print(f"benchmarks.peers: {error}", file=sys.stderr)
                return 1
    if args.only:
        return 0
    publish("peers", tables(results))
    if args.docs:
        insert_into_docs("peers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
