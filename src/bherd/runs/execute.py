"""Run a configuration into a directory, or take a directory up where it stopped."""

import dataclasses
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from torch import Tensor

from bherd.config import Config, to_dict
from bherd.engines.base import State
from bherd.errors import InputError
from bherd.rounds import run_rounds, start_state
from bherd.runs import directory as names
from bherd.runs.checkpoint import Checkpoint, load_checkpoint
from bherd.runs.files import check_log, locked
from bherd.runs.memory import peak_bytes, start_peak
from bherd.runs.recorder import Recorder, finish, tidy, write_summary
from bherd.session import Session, prepare
from bherd.tasks.flat import load_buffers, persistent_buffers, unravel

OnRound = Callable[[dict[str, Any]], None]
_FREE_TO_CHANGE = {("run", "workers"), ("task", "data_dir"), ("run", "checkpoint_every")}


def run(config: Config, directory: Path, on_round: OnRound | None = None) -> dict[str, Any]:
    """Run a configuration into a new directory and return its summary.

    Nothing is written before the data, the partition and the model have been found good.
    """
    check_new(directory)
    session = prepare(config)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        names.write_config(directory, session.config)
        names.write_partition(directory, session.task.order)
    except OSError as error:
        raise InputError(f"cannot write into {directory}: {error.strerror}") from error
    with locked(directory):
        return _continue(session, directory, None, on_round)


def resume(directory: Path, on_round: OnRound | None = None, *, workers: int | None = None) -> dict[str, Any]:
    """Continue an unfinished run; a finished one is returned as it is.

    Everything is checked before anything is written: the configuration against the checkpoint's, the
    logs against their hashes, the partition against the one that the configuration gives.
    """
    config = names.read_config(directory)
    if workers is not None:
        config = config.replace(workers=workers)
    with locked(directory):
        summary = names.read_summary(directory)
        if summary is not None and summary["status"] in ("complete", "diverged"):
            tidy(directory)
            return summary
        session = prepare(config)
        checkpoint = None
        path = directory / names.CHECKPOINT
        if path.exists():
            checkpoint = load_checkpoint(path, session.config.run.device)
            _check_settings(path, checkpoint, _settings(session))
            for name, mark in checkpoint.marks.items():
                check_log(directory / name, mark)
        if (directory / names.PARTITION).exists():
            names.check_partition(directory, session.task.order)
        else:
            names.write_partition(directory, session.task.order)
        return _continue(session, directory, checkpoint, on_round)


def check_new(directory: Path) -> None:
    """Refuse a directory that holds something already."""
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} exists and is not a folder")
    if directory.exists() and any(directory.iterdir()):
        hint = (
            f"continue it with `bherd resume {directory}` or choose another --out"
            if (directory / names.CONFIG).exists()
            else "choose another --out"
        )
        raise InputError(f"{directory} is not empty; {hint}")


def _continue(
    session: Session, directory: Path, checkpoint: Checkpoint | None, on_round: OnRound | None
) -> dict[str, Any]:
    start_peak()
    state = checkpoint.state if checkpoint else start_state(session.task, session.method)
    diverged_at = checkpoint.diverged_at if checkpoint else None
    settings = session.config.run
    recorder = Recorder(
        directory, _settings(session), settings.checkpoint_every, checkpoint, ledger=settings.ledger
    )
    with closing(recorder):
        if diverged_at is None:
            try:
                with closing(session.engine()) as engine, _stop_between_rounds() as computing:
                    rounds = run_rounds(engine, session.task, session.method, session.schedule, state)
                    for after, record in computing(rounds):
                        line = recorder.add(after, record)
                        state = after
                        diverged_at = record.round if record.diverged else None
                        if on_round is not None:
                            on_round(line)
            except KeyboardInterrupt:
                recorder.checkpoint(state)
                write_summary(directory, _summary(session, directory, state, None, recorder.seconds))
                raise
        if diverged_at is None:
            recorder.checkpoint(state)
        seconds = recorder.seconds
    summary = _summary(session, directory, state, diverged_at, seconds)
    finish(directory, model_tensors(session, state), summary)
    return summary


Computing = Callable[[Iterator[Any]], Iterator[Any]]


@contextmanager
def _stop_between_rounds() -> Iterator[Computing]:
    """Let Ctrl-C and SIGTERM break into a round's computation, but never into its recording.

    Yields a wrapper for the iterator of rounds. A signal that comes while a round is being recorded
    takes effect as soon as that is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda rounds: rounds
        return
    inside, asked = False, False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        del number, frame
        asked = True
        if inside:
            raise KeyboardInterrupt

    def computing(rounds: Iterator[Any]) -> Iterator[Any]:
        nonlocal inside
        while True:
            try:
                inside = True
                if asked:
                    raise KeyboardInterrupt
                item = next(rounds, None)
            finally:
                inside = False
            if item is None:
                return
            yield item

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield computing
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _settings(session: Session) -> dict[str, Any]:
    task = session.task
    data = names.fingerprint(*(t.cpu() for t in (task.x_train, task.y_train, task.x_test)))
    return {"config": to_dict(session.config), "data": data}


def _check_settings(path: Path, checkpoint: Checkpoint, now: dict[str, Any]) -> None:
    then = checkpoint.settings
    for section, values in now["config"].items():
        for key, value in values.items():
            before = then["config"].get(section, {}).get(key)
            if before != value and (section, key) not in _FREE_TO_CHANGE:
                raise InputError(
                    f"{path.parent} cannot be resumed: {section}.{key} is {value!r} in "
                    f"{names.CONFIG}, but the checkpoint was written with {before!r}; "
                    "put it back, or start a new run"
                )
    if then["data"] != now["data"]:
        raise InputError(f"{path.parent} cannot be resumed: the dataset is not the one that it began with")


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
        "final": evaluated[-1] if evaluated else None,
    }


def model_tensors(session: Session, state: State) -> dict[str, Tensor]:
    """The model's parameters and buffers by name, as model.safetensors holds them."""
    module = session.task.model.module
    load_buffers(module, state.buffers)
    tensors = {name: tensor.clone() for name, tensor in unravel(module, state.params).items()}
    tensors.update({name: buffer.detach().clone() for name, buffer in persistent_buffers(module)})
    frozen = {n: p.detach().clone() for n, p in module.named_parameters() if not p.requires_grad}
    return {**tensors, **frozen}
