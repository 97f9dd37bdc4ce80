"""Run a configuration into a directory, or take a directory up where it stopped."""

import dataclasses
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from bherd.config import Config, difference, from_dict, to_dict
from bherd.engines.base import Engine, State
from bherd.errors import DamagedFileError, InputError
from bherd.own_task import check_given, task_fingerprint, with_fingerprint
from bherd.rounds import run_rounds, start_state
from bherd.runs import directory as names
from bherd.runs.checkpoint import Checkpoint, Origin, load_checkpoint, move
from bherd.runs.files import (
    Mark,
    UnwritableError,
    check_beginning,
    check_whole,
    locked,
    make_directory,
    mark_of,
    remove,
    temporary,
)
from bherd.runs.memory import peak_bytes, start_peak
from bherd.runs.recorder import LOGS, Recorder, finish, remove_temporaries, tidy, undo, write_summary
from bherd.runs.stopping import Stop, hold_signals
from bherd.session import Session, prepare
from bherd.tasks.flat import state_of
from bherd.tasks.task import Task

OnRound = Callable[[dict[str, Any]], None]
OnWarning = Callable[[str], None]
MakeEngine = Callable[[Session], Engine]


class _Run(NamedTuple):
    """A run that is about to go on: what, where, and from which checkpoint (None: from the start)."""

    session: Session
    directory: Path
    origin: Origin
    partition: Mark
    checkpoint: Checkpoint | None
    make_engine: MakeEngine | None


def run(config: Config, directory: Path, on_round: OnRound | None = None) -> dict[str, Any]:
    """Run a configuration into a new directory and return its summary.

    Nothing is written before the data, the partition and the model have been found good, and a run
    that fails before its first round is over leaves nothing behind. `on_round` is given the metrics
    line of each round; it may raise `KeyboardInterrupt` to stop the run, as Ctrl-C does.
    """
    check_new(directory)
    return start(prepare(config), directory, on_round)


def start(
    session: Session,
    directory: Path,
    on_round: OnRound | None = None,
    *,
    make_engine: MakeEngine | None = None,
) -> dict[str, Any]:
    """The same for a session that is prepared already, by an engine of your own if you like."""
    check_new(directory)
    session = session._replace(config=with_fingerprint(session.config, session.task))
    origin = Origin(to_dict(session.config), names.environment(), task_fingerprint(session.task))
    with hold_signals() as stop:
        made = make_directory(directory)
        try:
            with locked(directory):
                check_new(directory)  # another process may have been quicker
                try:
                    return _begin(session, directory, origin, stop, on_round, make_engine)
                except Exception:
                    if not _has_rounds(directory):
                        with suppress(UnwritableError):
                            undo(directory)
                    raise
        except Exception:
            with suppress(OSError):
                for folder in made:
                    folder.rmdir()
            raise


def resume(
    directory: Path,
    on_round: OnRound | None = None,
    *,
    task: Task | None = None,
    workers: int | None = None,
    on_warning: OnWarning = warnings.warn,
    make_engine: MakeEngine | None = None,
) -> dict[str, Any]:
    """Continue an unfinished run; a finished one is checked and returned as it is.

    Everything is checked before anything is written: the configuration against the checkpoint's, the
    logs and the partition against their hashes, the data against its fingerprint. A run on a task of
    your own needs that `task` again. `on_warning` is told where versions have changed since the run began.
    """
    config, environment = names.read_config(directory), names.read_environment(directory)
    if make_engine is None and (directory / names.FEDERATION).is_dir():
        raise InputError(
            f"{directory} belongs to a networked federation, whose clients keep their own state; "
            f"continue it with `bherd federation resume {directory}`"
        )
    with locked(directory):
        summary = names.read_summary(directory)
        if summary is not None and summary["status"] != "interrupted":
            names.check_final_files(directory, summary)
            tidy(directory)
            return summary
        check_given(task, config, directory)
        checkpoint = _checked_checkpoint(directory, config, environment)
        session = prepare(config if workers is None else config.replace(workers=workers), task=task)
        origin = Origin(to_dict(config), environment, task_fingerprint(session.task))
        same = difference(config, with_fingerprint(session.config, session.task)) is None
        if not same or (checkpoint is not None and checkpoint.origin.data != origin.data):
            raise InputError(f"{directory} cannot be resumed: the dataset is not the one that it began with")
        whole = (directory / names.PARTITION).exists()
        if whole:
            names.check_partition(directory, session.task.order)
        changes = names.changed_versions(environment, names.environment())
        if changes is not None:
            on_warning(f"{directory}: {changes}")
        with hold_signals() as stop:
            remove_temporaries(directory)
            remove(directory / names.SUMMARY)
            if whole:
                partition = mark_of((directory / names.PARTITION).read_bytes())
            else:
                partition = names.write_partition(directory, session.task.order)
            return _continue(
                _Run(session, directory, origin, partition, checkpoint, make_engine), stop, on_round
            )


def check_new(directory: Path) -> None:
    """Refuse a directory that holds something already.

    A draft of a killed start does no harm, nor do the files of a federation that is about to begin.
    """
    if directory.is_symlink() and not directory.exists():
        raise InputError(f"{directory} is a link to a folder that does not exist; make it, or choose another")
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} exists and is not a folder")
    try:
        inside = {path.name for path in directory.iterdir()} if directory.exists() else set()
    except OSError as error:
        raise InputError(f"{directory} cannot be read: {error.strerror or error}") from error
    if inside - {temporary(directory / names.CONFIG).name, names.FEDERATION}:
        hint = (
            f"continue it with `bherd resume {directory}` or choose another --out"
            if names.CONFIG in inside
            else "choose another --out"
        )
        raise InputError(f"{directory} is not empty; {hint}")


def _begin(
    session: Session,
    directory: Path,
    origin: Origin,
    stop: Stop,
    on_round: OnRound | None,
    make_engine: MakeEngine | None,
) -> dict[str, Any]:
    names.write_config(directory, session.config, origin.environment)
    partition = names.write_partition(directory, session.task.order)
    return _continue(_Run(session, directory, origin, partition, None, make_engine), stop, on_round)


def _continue(run: _Run, stop: Stop, on_round: OnRound | None) -> dict[str, Any]:
    """Do the rounds that are left. A stop, a divergence and the end each leave a summary."""
    try:
        return _finish_rounds(run, stop, on_round)
    except UnwritableError as error:
        if not _has_rounds(run.directory):
            raise
        raise UnwritableError(
            f"{error}; what was recorded before is safe: once there is room and access, continue with "
            f"`bherd resume {run.directory}`"
        ) from error


def _finish_rounds(run: _Run, stop: Stop, on_round: OnRound | None) -> dict[str, Any]:
    start_peak()
    session, directory, settings = run.session, run.directory, run.session.config.run
    recorder = Recorder(
        directory,
        run.origin,
        run.partition,
        settings.checkpoint_every,
        run.checkpoint,
        ledger=settings.ledger,
    )
    with closing(recorder):
        if run.checkpoint is None:
            state, diverged_at = start_state(session.task, session.method), None
            recorder.checkpoint(state)
        else:
            state, diverged_at = move(run.checkpoint.state, settings.device), run.checkpoint.diverged_at
        if diverged_at is None and state.round < session.schedule.rounds:
            with closing((run.make_engine or Session.engine)(session)) as engine:
                rounds = run_rounds(engine, session.task, session.method, session.schedule, state)
                for after, record in stop.until_asked(rounds):
                    line = recorder.add(after, record)
                    state, diverged_at = after, record.round if record.diverged else None
                    try:
                        if on_round is not None:
                            on_round(line)
                    except KeyboardInterrupt:
                        stop.ask()
        marks = recorder.checkpoint(state, diverged_at)
        seconds = recorder.seconds
    summary = _summary(session, directory, state, diverged_at, seconds)
    if summary["status"] == "interrupted":
        write_summary(directory, summary)
        return summary
    return finish(directory, model_tensors(session, state), summary, marks)


def _has_rounds(directory: Path) -> bool:
    return bool(names.read_metrics(directory))


def _checked_checkpoint(directory: Path, config: Config, environment: dict[str, str]) -> Checkpoint | None:
    """The checkpoint, found good and fitting; None for a run that was killed before it had one."""
    path = directory / names.CHECKPOINT
    if not path.exists():
        for log in (directory / name for name in LOGS):
            if log.exists() and log.stat().st_size > 0:
                raise DamagedFileError(
                    f"{path} is missing, although {log.name} holds rounds; nothing was changed"
                )
        return None
    checkpoint = load_checkpoint(path)
    _check_settings(directory, checkpoint.origin, config, environment)
    for name, mark in checkpoint.marks.items():
        check = check_whole if name == names.PARTITION else check_beginning
        check(directory / name, mark)
    return checkpoint


def _check_settings(directory: Path, then: Origin, now: Config, environment: dict[str, str]) -> None:
    """Refuse other settings than the run began with; one that is younger than the run had its default."""
    other = difference(from_dict(then.config, source=str(directory / names.CHECKPOINT)), now)
    if other is not None:
        raise InputError(
            f"{directory} cannot be resumed: {other.path} is {other.now!r} in {names.CONFIG}, but "
            f"the run began with {other.before!r}; put it back, or start a new run"
        )
    if environment != then.environment:
        raise DamagedFileError(
            f"{directory / names.CONFIG} is damaged: its table [environment] is not the one that the run "
            "began with; nothing was changed"
        )


def _summary(
    session: Session, directory: Path, state: State, diverged_at: int | None, seconds: float
) -> dict[str, Any]:
    rounds = session.schedule.rounds
    status = "diverged" if diverged_at is not None else "complete" if state.round == rounds else "interrupted"
    evaluated = [line for line in names.read_metrics(directory) if line["test_loss"] is not None]
    return {
        "status": status,
        "rounds_done": state.round,
        "rounds": rounds,
        "diverged_at": diverged_at,
        "seconds": round(seconds, 3),
        "peak_memory_bytes": peak_bytes(),
        "method": dataclasses.asdict(session.config.method),
        "task": dataclasses.asdict(session.config.task),
        "reading": session.reading,
        "step": session.step_taken(names.read_clients(directory)),
        "final": evaluated[-1] if evaluated else None,
    }


def model_tensors(session: Session, state: State) -> dict[str, Tensor]:
    """The model's parameters and buffers by name, as model.safetensors holds them."""
    trained = state_of(session.task.model.module, state.params, state.buffers)
    return {name: value for name, value in trained.items() if isinstance(value, Tensor)}
