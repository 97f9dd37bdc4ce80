"""From measurements to the tables that are published."""

from collections.abc import Mapping, Sequence

from benchmarks.peers.contestants import BASELINE, CONTESTANTS
from benchmarks.peers.environments import versions
from benchmarks.peers.measure import Measured
from benchmarks.peers.workloads import WORKLOADS
from benchmarks.tables import Cell, Table, machine, milliseconds

AGREE_WITHIN = 0.002
NOTE = (
    "How many times as long as our FedAvg a round takes, by minima. Runs of everybody, in turns: {repeats}, "
    "each a new process, on {processor}, {cores} cores. FedAvg by plain SGD in float32 from the same start, "
    "with the same batches and the same participants. All FedAvgs end with the same test accuracy: "
    "{agreement}. Ours writes a whole run directory meanwhile, unless 'in memory' is said. The last line "
    "herds, which none of the others does."
)
EVERY_ROUND = "Test accuracy is taken after every round, and is part of the time."
LAST_ROUND = "Test accuracy is taken after the last round; times are means of ten rounds."
ONE_NOTE = (
    "{evaluation} {rounds} rounds a run, of which the first does not count; torch has {threads} of the cores "
    "for one operation where one client is trained at a time. The whole run is from the launch of the "
    "process to the end of its last round; memory is the peak of all its processes together. "
    "Load average before the runs: {low} to {high}."
)


class DisagreementError(RuntimeError):
    """Not everybody computed the same thing."""


def check_agreement(measured: Sequence[Measured]) -> tuple[float, float]:
    """The lowest and the highest accuracy of the FedAvgs, which must be close."""
    reached = {one.contestant.name: one.accuracy for one in measured if one.contestant.fedavg}
    low, high = min(reached.values()), max(reached.values())
    if high - low > AGREE_WITHIN:
        raise DisagreementError(f"not all reach the same accuracy, so times cannot be compared: {reached}")
    return low, high


def tables(results: Mapping[str, Sequence[Measured]]) -> list[Table]:
    """The summary, a table for each workload, and the versions."""
    return [_summary(results), *(_details(name, all_) for name, all_ in results.items()), _versions(results)]


def _summary(results: Mapping[str, Sequence[Measured]]) -> Table:
    agreed = {name: check_agreement(all_) for name, all_ in results.items()}
    agreement = "; ".join(f"{name} {low:.4f} to {high:.4f}" for name, (low, high) in agreed.items())
    repeats = max(len(one.runs) for all_ in results.values() for one in all_)
    where = machine()
    note = NOTE.format(
        repeats=repeats, processor=where["processor"], cores=where["cores"], agreement=agreement
    )
    ratios = {name: _ratios(all_) for name, all_ in results.items()}
    rows: list[tuple[Cell, ...]] = [
        (contestant.name, *(ratios[name].get(contestant.name, "") for name in results))
        for contestant in CONTESTANTS
        if any(contestant.name in ratios[name] for name in results)
    ]
    return Table("Times as long as ours", note, ("what", *(WORKLOADS[name].title for name in results)), rows)


def _ratios(measured: Sequence[Measured]) -> dict[str, str]:
    ours = next(one.minimum for one in measured if one.contestant.name == BASELINE)
    return {one.contestant.name: f"{one.minimum / ours:.3g}" for one in measured}


def _details(name: str, measured: Sequence[Measured]) -> Table:
    workload, ratios = WORKLOADS[name], _ratios(measured)
    last_only = workload.config.run.eval_every > 1
    loads = [run.load_before for one in measured for run in one.runs]
    note = ONE_NOTE.format(
        low=min(loads),
        high=max(loads),
        evaluation=LAST_ROUND if last_only else EVERY_ROUND,
        rounds=workload.config.train.rounds,
        threads={1: "one", 2: "two"}[workload.threads],
    )
    columns = (
        "what",
        "minimum, ms a round",
        "median",
        "times ours",
        "whole run, s",
        "peak memory, MB",
        "test accuracy",
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.contestant.name,
            milliseconds(one.minimum),
            milliseconds(one.median),
            ratios[one.contestant.name],
            f"{one.whole:.1f}",
            f"{one.peak_bytes / 2**20:.0f}",
            f"{one.accuracy:.4f}",
        )
        for one in measured
    ]
    return Table(f"In detail, {workload.title}", note, columns, rows)


def _versions(results: Mapping[str, Sequence[Measured]]) -> Table:
    present = {one.contestant for all_ in results.values() for one in all_}
    rows: list[tuple[Cell, ...]] = []
    for contestant in CONTESTANTS:
        if contestant in present:
            package = contestant.environment.package
            found = versions(contestant.environment)
            rows.append(
                (
                    contestant.name,
                    f"{package} {found[package]}" if contestant.module != "with_loops" else "",
                    found["torch"],
                    found["numpy"],
                    contestant.how,
                )
            )
    return Table("Versions", "As installed.", ("what", "version", "torch", "numpy", "how"), rows)
