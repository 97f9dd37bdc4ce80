"""From runs to what the page is given, thinned, with a note for everything that was left out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version

from bherd.loop.seconds import Seconds
from bherd.report import thin
from bherd.report.command import command
from bherd.report.fairness import Fairness, TrainingLabels, fairness, fits, holdings, training_labels
from bherd.report.grouping import Series, TaskGroup, group
from bherd.report.headline import headline
from bherd.report.herd import Distance, Herd, distances, heat_maps, read_ledger
from bherd.report.records import CurveView, curve_of, seconds_of
from bherd.report.rounds_inside import Snapshots, snapshots
from bherd.runs.read import Run
from bherd.statistics import Interval, common_target, interval, quantile


@dataclass(frozen=True)
class FederationView:
    """Who holds what."""

    sizes: list[int]
    labels: list[list[int]] | None
    why_not: str | None
    all_clients: int


@dataclass(frozen=True)
class RunView:
    name: str
    seed: int
    status: str
    rounds_done: int
    diverged_at: int | None
    seconds: float | None
    peak_memory_bytes: int | None
    split: Seconds
    curve: CurveView
    distance: Distance
    keeps_everything: bool
    alpha: float | None
    """The share that its clients keep, in the first round where it changes."""
    herd: Herd | None
    fairness: Fairness | None
    snapshots: Snapshots | None
    federation: FederationView
    config: str
    environment: dict[str, str]
    command: str | None


@dataclass(frozen=True)
class MethodView:
    """One line of the table: its runs, and the mean final accuracy with the half-width of its interval."""

    label: str
    runs: list[int]
    final_mean: float | None
    final_half_width: float | None
    final_runs: int
    """How many runs the mean is over; those that diverged are left out."""


@dataclass(frozen=True)
class TaskView:
    label: str
    own: bool
    """Whether it is a task from Python, whose metric is its own: no share, and higher may be worse."""
    headline: list[str]
    target: float
    series: list[MethodView]


@dataclass(frozen=True)
class Payload:
    title: str
    made: str
    version: str
    methods: list[str]
    """Every series' label once: its position gives its colour and dash."""
    tasks: list[TaskView]
    runs: list[RunView]
    notes: list[str]
    student: list[float | None]
    """Student's quantile of the 95% interval of a mean over n seeds, by n; none for fewer than two."""


def make_payload(records: Sequence[Run], title: str | None) -> Payload:
    """Everything that the page shows."""
    grouping = group(records)
    names = _names(records)
    labels = training_labels([record.config for record in records])
    runs = [_run(*one, len(records)) for one in zip(records, names, labels, strict=True)]
    tasks = [
        TaskView(
            task.label,
            task.own,
            headline(task, records),
            _target(task, records),
            [_method(series, records) for series in task.series],
        )
        for task in grouping.tasks
    ]
    methods = list(dict.fromkeys(series.label for task in tasks for series in task.series))
    notes = [*_readings(labels), *_notes(records, runs)]
    if grouping.repeated:
        twins = ", ".join(names[index] for index in grouping.repeated)
        notes.append(f"Left out, because an earlier run has the same method, task and seed: {twins}.")
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    most = max(len(series.runs) for task in tasks for series in task.series)
    student = [None if count < 2 else quantile(count) for count in range(most + 1)]
    return Payload(title or _title(tasks), made, version("bherd"), methods, tasks, runs, notes, student)


def _method(series: Series, records: Sequence[Run]) -> MethodView:
    final = _final(series, records)
    mean, half_width = thin.short(final.mean), thin.short(final.half_width)
    return MethodView(series.label, series.runs, mean, half_width, final.samples)


def _run(record: Run, name: str, labels: TrainingLabels | str, count: int) -> RunView:
    everything = not record.config.method.selects
    points = thin.share_of(thin.CURVE_POINTS, count)
    order = record.partition()
    if not isinstance(labels, str) and not fits(order, labels):
        labels = "the dataset on this machine is not the one that the run was made with"
    ledger = None if everything else read_ledger(record)
    herd, fair = None, None
    if ledger is not None:
        shown = ledger.clients[: thin.SHOWN_CLIENTS]
        herd = heat_maps(ledger, shown, len(order), thin.share_of(thin.HERD_BYTES, count))
        if order and not isinstance(labels, str):
            fair = fairness(record.config, ledger, order, labels, shown)
    embedded = order[: thin.FEDERATION_CLIENTS]
    return RunView(
        name=name,
        seed=record.config.run.seed,
        status=record.status,
        rounds_done=record.rounds_done,
        diverged_at=record.diverged_at,
        seconds=thin.short(record.seconds),
        peak_memory_bytes=record.peak_memory_bytes,
        split=seconds_of(record),
        curve=_thinned(curve_of(record), points),
        distance=distances(record, points),
        keeps_everything=everything,
        alpha=None if record.config.method.alpha is None else float(record.config.method.alpha),
        herd=herd,
        fairness=fair,
        snapshots=snapshots(record, thin.SHOWN_CLIENTS, thin.share_of(thin.SNAPSHOT_STEPS, count)),
        federation=FederationView(
            [len(rows) for rows in embedded],
            None if isinstance(labels, str) else holdings(embedded, labels),
            labels if isinstance(labels, str) else None,
            len(order),
        ),
        config=record.config_text,
        environment=record.environment,
        command=command(record.config),
    )


def _thinned(curve: CurveView, points: int) -> CurveView:
    chosen = thin.spread(len(curve.round), points).tolist()
    return replace(
        curve,
        round=[curve.round[i] for i in chosen],
        train_loss=[thin.short(curve.train_loss[i]) for i in chosen],
        test_loss=[thin.short(curve.test_loss[i]) for i in chosen],
        test_accuracy=[thin.short(curve.test_accuracy[i]) for i in chosen],
        seconds=[thin.short(curve.seconds[i]) or 0.0 for i in chosen],
        uplink_bytes=[curve.uplink_bytes[i] for i in chosen],
    )


def _names(records: Sequence[Run]) -> list[str]:
    """The directories below their common parent, as the user knows them."""
    parts = [record.directory.resolve().parts for record in records]
    common = 0
    while all(len(p) > common + 1 for p in parts) and len({p[common] for p in parts}) == 1:
        common += 1
    return ["/".join(p[common:]) for p in parts]


def _readings(labels: Sequence[TrainingLabels | str]) -> list[str]:
    """What the numbers of classes stand for, dataset by dataset, where they have other names."""
    known = (one.reading for one in labels if isinstance(one, TrainingLabels))
    return list(dict.fromkeys(text for text in known if text is not None))


def _title(tasks: Sequence[TaskView]) -> str:
    if len(tasks) > 1:
        return f"{len(tasks)} tasks"
    series, dataset = tasks[0].series, tasks[0].label.partition(",")[0]
    return f"{series[0].label if len(series) == 1 else f'{len(series)} methods'} on {dataset}"


def _final(series: Series, records: Sequence[Run]) -> Interval:
    """Final accuracy over the runs that did not diverge; of an unfinished run, the last one so far."""
    mine = [records[i] for i in series.runs if records[i].diverged_at is None]
    return interval([value for run in mine if (value := run.final_accuracy) is not None])


def _target(task: TaskGroup, records: Sequence[Run]) -> float:
    """The target accuracy that the page begins with."""
    return common_target([_final(series, records).mean for series in task.series])


def _notes(records: Sequence[Run], runs: Sequence[RunView]) -> list[str]:
    """A sentence for each kind of thinning that took place."""
    notes = []
    if any(len(record.points) > len(run.curve.round) for record, run in zip(records, runs, strict=True)):
        most = max(len(run.curve.round) for run in runs)
        notes.append(
            f"Curves are thinned to at most {most} evenly spread evaluated rounds a run, so rounds to "
            "target are exact only to that spacing; metrics.jsonl has every round."
        )
    herds = [run.herd for run in runs if run.herd]
    thinned = [herd for herd in herds if herd.all_rounds > len(herd.rounds)]
    if thinned:
        notes.append(
            f"Heat maps show {min(len(herd.rounds) for herd in thinned)} evenly spread rounds of "
            f"{max(herd.all_rounds for herd in thinned)}; ledger.parquet has all."
        )
    if any(herd.all_clients > len(herd.clients) for herd in herds):
        notes.append(f"Heat maps and label counts are of the first {thin.SHOWN_CLIENTS} clients of a run.")
    if any(run.fairness and run.fairness.rounds < run.fairness.all_rounds for run in runs):
        notes.append(
            f"Labels of kept samples are counted over {thin.REPLAYED_ROUNDS} evenly spread rounds where "
            "clients reshuffle their samples."
        )
    inside = [run.snapshots for run in runs if run.snapshots]
    if any(shots.all_rounds > len(shots.rounds) for shots in inside):
        least = min(len(shots.rounds) for shots in inside)
        notes.append(
            f"Of the snapshotted rounds, {least} evenly spread ones a run are shown; "
            "snapshots.parquet has all."
        )
    if any(shots.all_clients > thin.SHOWN_CLIENTS for shots in inside):
        notes.append(f"Snapshots are of the first {thin.SHOWN_CLIENTS} clients of a run.")
    if any(run.federation.all_clients > len(run.federation.sizes) for run in runs):
        notes.append(f"The federation's table shows the first {thin.FEDERATION_CLIENTS} clients.")
    return notes
