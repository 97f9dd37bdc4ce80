"""The life of a run in a directory: it is begun, or taken up where it stopped, and brought to its end."""

import dataclasses
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from bherd.config import Config, difference, to_dict
from bherd.errors import InputError
from bherd.loop.engine import Engine
from bherd.loop.rounds import run_rounds
from bherd.loop.server import shipped_params
from bherd.loop.state import State, start_state
from bherd.methods import check_loadable
from bherd.own_task import check_given, task_fingerprint, with_fingerprint
from bherd.runs import directory as run_directory
from bherd.runs.checkpoint import Checkpoint, move
from bherd.runs.files import Mark, UnwritableError, locked, remove
from bherd.runs.header import Origin
from bherd.runs.memory import peak_bytes, start_peak
from bherd.runs.new import check_new, has_rounds, new_directory
from bherd.runs.read import read_config, read_run
from bherd.runs.recorder import (
    Recorder,
    finish,
    remove_logs,
    remove_temporaries,
    write_summary,
)
from bherd.runs.stopping import Stop, hold_signals
from bherd.runs.taking_up import OnWarning, check_data, last_checkpoint
from bherd.session import Session, prepare, resolve
from bherd.sources import check_sources, sources_of
from bherd.tasks.flat import state_of
from bherd.tasks.task import Task

OnRound = Callable[[dict[str, Any]], None]
MakeEngine = Callable[[Session], Engine]


class _Sitting(NamedTuple):
    """What one process does of a run: from which checkpoint (None: from the start), and how."""

    session: Session
    directory: Path
    origin: Origin
    partition: Mark
    checkpoint: Checkpoint | None
    accepted: dict[str, str]
    """The user's own code that is not the one that the run began with."""
    make_engine: MakeEngine | None
    on_round: OnRound | None


def run(
    what: Config | Session,
    directory: Path,
    on_round: OnRound | None = None,
    *,
    make_engine: MakeEngine | None = None,
) -> dict[str, Any]:
    """Run a configuration into a new directory.

    Nothing is written before the data, the partition and the model have been found good, and a run
    that fails before its first round is over leaves nothing behind.

    Args:
        what: a configuration, or a session that is prepared already.
        directory: a folder that is empty or does not exist yet.
        on_round: given the metrics line of each round; it may raise `KeyboardInterrupt` to stop the run,
            as Ctrl-C does.
        make_engine: an engine of your own, in place of the one that the configuration names.

    Returns:
        The summary, as summary.json holds it.

    Raises:
        InputError: the directory is not empty, or the configuration does not fit the data.
        KeyboardInterrupt: the run was stopped; `resume` continues it.
    """
    check_new(directory)
    session = what if isinstance(what, Session) else prepare(what)
    check_loadable(session.config.method)
    session = session._replace(config=with_fingerprint(session.config, session.task))
    origin = Origin(
        to_dict(session.config),
        run_directory.environment(),
        task_fingerprint(session.task),
        sources_of(session.config),
    )
    with hold_signals() as stop, new_directory(directory):
        run_directory.write_config(directory, session.config, origin.environment, origin.sources)
        partition = run_directory.write_partition(directory, session.task.order)
        return _sit(_Sitting(session, directory, origin, partition, None, {}, make_engine, on_round), stop)


def resume(
    directory: Path,
    on_round: OnRound | None = None,
    *,
    task: Task | None = None,
    workers: int | None = None,
    on_warning: OnWarning = warnings.warn,
    make_engine: MakeEngine | None = None,
    accept_changed_code: bool = False,
) -> dict[str, Any]:
    """Continue an unfinished run; a finished one is checked and returned as it is.

    Everything is checked before anything is written: the configuration against the checkpoint's, the
    logs and the partition against their hashes, the data against its fingerprint.

    Args:
        directory: the run directory.
        on_round: given the metrics line of each further round.
        task: needed again for a run on a task of your own.
        workers: clients to train at the same time from now on; left out, as before.
        on_warning: told where versions have changed since the run began.
        make_engine: an engine of your own, in place of the one that the configuration names.
        accept_changed_code: go on although a part or a model of your own is no longer the code that the run
            began with; the summary then says so.

    Returns:
        The summary, as summary.json holds it.

    Raises:
        InputError: it is no run directory, or its configuration, data or code are not those it began with.
        DamagedFileError: a file is missing, or not what was recorded.
    """
    read_config(directory)  # no run directory at all: say so before it is locked
    if make_engine is None and (directory / run_directory.FEDERATION).is_dir():
        raise InputError(
            f"{directory} belongs to a networked federation, whose clients keep their own state; "
            f"continue it with `bherd federation resume {directory}`"
        )
    with locked(directory):
        found = read_run(directory)
        found.check_files()
        if found.ended:
            remove_logs(directory)
            return dict(found.summary)
        check_given(task, found.config, directory)
        checkpoint = last_checkpoint(directory)
        sources = sources_of(found.config)
        known = {**found.sources, **(checkpoint.header.accepted if checkpoint else {})}
        if not accept_changed_code:
            check_sources(known, sources)
        accepted = {name: digest for name, digest in sources.items() if found.sources.get(name) != digest}
        config = found.config if workers is None else found.config.replace(workers=workers)
        session = prepare(config, task=task)
        partition, origin = check_data(found, session, checkpoint, on_warning)
        with hold_signals() as stop:
            remove_temporaries(directory)
            remove(directory / run_directory.SUMMARY)
            if partition is None:
                partition = run_directory.write_partition(directory, session.task.order)
            sitting = _Sitting(
                session, directory, origin, partition, checkpoint, accepted, make_engine, on_round
            )
            return _sit(sitting, stop)


def run_or_resume(config: Config, directory: Path, *, workers: int) -> dict[str, Any]:
    """Run a configuration, continue it where it stopped, or give back the summary of a run that has ended.

    Args:
        config: what to run.
        directory: where; if a run is there already, it must be this one.
        workers: clients to train at the same time.

    Raises:
        InputError: the directory holds a run with other settings, or something else.
    """
    if not (directory / run_directory.CONFIG).exists():
        return run(config.replace(workers=workers), directory)
    check_same(config, directory)
    return resume(directory, workers=workers)


def check_same(config: Config, directory: Path) -> None:
    """Refuse to continue a run in a directory with other settings than those it began with."""
    other = difference(read_config(directory), resolve(config))
    if other is not None:
        raise InputError(
            f"{directory} holds a run with other settings ({other}); put it back, or choose another folder"
        )


def _sit(sitting: _Sitting, stop: Stop) -> dict[str, Any]:
    """Do the rounds that are left. A stop, a divergence and the end each leave a summary."""
    try:
        return _rounds(sitting, stop)
    except UnwritableError as error:
        if not has_rounds(sitting.directory):
            raise
        raise UnwritableError(
            f"{error}; what was recorded before is safe: once there is room and access, continue with "
            f"`bherd resume {sitting.directory}`"
        ) from error


def _rounds(sitting: _Sitting, stop: Stop) -> dict[str, Any]:
    start_peak()
    session, directory, checkpoint = sitting.session, sitting.directory, sitting.checkpoint
    settings = session.config.run
    recorder = Recorder(
        directory,
        sitting.origin,
        sitting.partition,
        settings.checkpoint_every,
        checkpoint,
        ledger=settings.ledger,
        accepted=sitting.accepted,
    )
    with closing(recorder):
        if checkpoint is None:
            state, diverged_at = start_state(session.task, session.method), None
            recorder.checkpoint(state)
        else:
            state, diverged_at = move(checkpoint.state, settings.device), checkpoint.header.diverged_at
        if diverged_at is None and state.round < session.plan.rounds:
            with closing((sitting.make_engine or Session.engine)(session)) as engine:
                rounds = run_rounds(engine, session.task, session.method, session.plan, state)
                for after, record in stop.until_asked(rounds):
                    line = recorder.add(after, record)
                    state, diverged_at = after, record.round if record.diverged else None
                    try:
                        if sitting.on_round is not None:
                            sitting.on_round(line)
                    except KeyboardInterrupt:
                        stop.ask()
        marks = recorder.checkpoint(state, diverged_at)
        seconds = recorder.seconds
    summary = _summary(session, directory, state, diverged_at, seconds)
    if sitting.accepted:
        summary["changed_code"] = sitting.accepted
    if summary["status"] == "interrupted":
        write_summary(directory, summary)
        return summary
    return finish(directory, model_tensors(session, state), summary, marks)


def _summary(
    session: Session, directory: Path, state: State, diverged_at: int | None, seconds: float
) -> dict[str, Any]:
    rounds = session.plan.rounds
    status = "diverged" if diverged_at is not None else "complete" if state.round == rounds else "interrupted"
    recorded = read_run(directory)
    return {
        "status": status,
        "rounds_done": state.round,
        "rounds": rounds,
        "diverged_at": diverged_at,
        "seconds": round(seconds, 3),
        "peak_memory_bytes": peak_bytes(),
        "method": {k: v for k, v in dataclasses.asdict(session.config.method).items() if v is not None},
        "task": dataclasses.asdict(session.config.task),
        "reading": session.reading,
        "step": session.step_taken(recorded.clients()),
        "final": None if recorded.final is None else recorded.final.plain(),
    }


def model_tensors(session: Session, state: State) -> dict[str, Tensor]:
    """The model's parameters and buffers by name, as model.safetensors holds them."""
    trained = state_of(session.task.model.module, shipped_params(session.method, state), state.buffers)
    return {name: value for name, value in trained.items() if isinstance(value, Tensor)}
