"""Ctrl-C and SIGTERM stop a run between rounds, with everything written down."""

import os
import pickle
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bherd.loop import rounds
from bherd.runs import checkpoint, life, recorder
from bherd.runs import directory as names
from bherd.runs.checkpoint import load_checkpoint
from bherd.runs.life import resume, run
from bherd.runs.stopping import Stop, Stopped, hold_signals
from bherd.runs.verify import read_summary
from tests.small_runs import contents, read_lines, small_config

BOTH = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(autouse=True)
def handlers_are_put_back() -> Iterator[None]:
    """Wherever the tests were started from: a script's background job begins with SIGINT ignored."""
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = [signal.getsignal(number) for number in BOTH]
    yield
    after = [signal.getsignal(number) for number in BOTH]
    signal.signal(signal.SIGINT, outside)
    assert after == before


@pytest.fixture
def expected(tmp_path: Path) -> dict[str, Any]:
    run(small_config(tmp_path), tmp_path / "whole")
    return contents(tmp_path / "whole")


@pytest.mark.parametrize("number", BOTH)
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("times", [1, 2])
def test_a_signal_while_clients_train(
    number: int,
    workers: int,
    times: int,
    tmp_path: Path,
    expected: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The round that was under way is dropped; a second signal does not get into the checkpoint."""
    config = small_config(tmp_path).replace(workers=workers, checkpoint_every=1000)
    ran = rounds.run_rounds

    def disturbed(*args: Any) -> Iterator[Any]:
        for after, record in ran(*args):
            if record.round == 3:
                os.kill(os.getpid(), number)
            yield after, record

    saved = checkpoint.save_checkpoint

    def save(*args: Any) -> None:
        if times == 2 and args[1].state.round == 2:
            os.kill(os.getpid(), number)
        saved(*args)

    monkeypatch.setattr(life, "run_rounds", disturbed)
    monkeypatch.setattr(recorder, "save_checkpoint", save)
    with pytest.raises(Stopped) as stopped:
        run(config, tmp_path / "run")
    assert stopped.value.number == number
    summary = read_summary(tmp_path / "run")
    assert summary is not None
    assert (summary["status"], summary["rounds_done"]) == ("interrupted", 2)
    assert load_checkpoint(tmp_path / "run" / names.CHECKPOINT).state.round == 2
    monkeypatch.undo()
    assert resume(tmp_path / "run")["status"] == "complete"
    assert contents(tmp_path / "run") == expected


def test_a_signal_while_a_round_is_recorded(tmp_path: Path, expected: dict[str, Any]) -> None:
    def on_round(line: dict[str, Any]) -> None:
        if line["round"] == 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(small_config(tmp_path), tmp_path / "run", on_round)
    assert [line["round"] for line in read_lines(tmp_path / "run")] == [1]
    resume(tmp_path / "run")
    assert contents(tmp_path / "run") == expected


def test_a_signal_after_the_last_round_waits_until_the_run_is_complete(
    tmp_path: Path, expected: dict[str, Any]
) -> None:
    def on_round(line: dict[str, Any]) -> None:
        if line["round"] == 3:
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Stopped):
        run(small_config(tmp_path), tmp_path / "run", on_round)
    assert contents(tmp_path / "run") == expected
    assert resume(tmp_path / "run")["status"] == "complete"


def test_a_callback_stops_a_run_in_a_thread(tmp_path: Path, expected: dict[str, Any]) -> None:
    def on_round(line: dict[str, Any]) -> None:
        if line["round"] == 2:
            raise KeyboardInterrupt

    raised: list[BaseException] = []

    def work() -> None:
        try:
            run(small_config(tmp_path), tmp_path / "run", on_round)
        except KeyboardInterrupt as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [type(error) for error in raised] == [Stopped]
    resume(tmp_path / "run")
    assert contents(tmp_path / "run") == expected


def test_a_callback_that_fails_leaves_a_run_that_can_go_on(tmp_path: Path, expected: dict[str, Any]) -> None:
    def on_round(line: dict[str, Any]) -> None:
        if line["round"] == 2:
            raise BrokenPipeError("the reader has gone")

    with pytest.raises(BrokenPipeError):
        run(small_config(tmp_path), tmp_path / "run", on_round)
    resume(tmp_path / "run")
    assert contents(tmp_path / "run") == expected


def test_a_stop_in_the_first_round_can_be_taken_up(
    tmp_path: Path, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(*_: Any) -> Iterator[Any]:
        signal.raise_signal(signal.SIGINT)
        yield from ()

    monkeypatch.setattr(life, "run_rounds", at_once)
    with pytest.raises(Stopped):
        run(small_config(tmp_path), tmp_path / "run")
    monkeypatch.undo()
    resume(tmp_path / "run")
    assert contents(tmp_path / "run") == expected


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with hold_signals() as stop:
            signal.raise_signal(signal.SIGINT)
            assert not stop.asked()
    finally:
        signal.signal(signal.SIGINT, before)


def test_only_the_first_signal_breaks_in() -> None:
    stop = Stop()

    def two() -> Iterator[int]:
        yield 1
        try:
            stop.handle(signal.SIGTERM, None)
        finally:
            stop.handle(signal.SIGINT, None)  # would replace the first, if it were raised too
        yield 2

    assert list(stop.until_asked(two())) == [1]
    assert stop.number == signal.SIGTERM


def test_a_stop_travels_between_processes() -> None:
    stopped = pickle.loads(pickle.dumps(Stopped(signal.SIGTERM)))  # noqa: S301
    assert (stopped.number, str(stopped)) == (signal.SIGTERM, "stopped by SIGTERM")
