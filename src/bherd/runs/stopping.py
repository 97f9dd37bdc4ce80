"""Ctrl-C and SIGTERM: they may break into a round's computation, but never into its recording."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

Item = TypeVar("Item")


class Stopped(KeyboardInterrupt):
    """A run was stopped by a signal, after everything that it had done was written down."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        return f"stopped by {signal.Signals(self.number).name}"


class Stop:
    """Whether a signal has come. Only the first one breaks off a computation; the rest are noted."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._computing = False

    def asked(self) -> bool:
        """Whether a stop is asked for."""
        return self.number is not None

    def ask(self, number: int = signal.SIGINT) -> None:
        """Ask for a stop before the next round."""
        if self.number is None:
            self.number = number

    def handle(self, number: int, frame: FrameType | None) -> None:
        """The signals' handler."""
        del frame
        self.ask(number)
        if self._computing:
            self._computing = False
            raise KeyboardInterrupt

    def until_asked(self, rounds: Iterator[Item]) -> Iterator[Item]:
        """The rounds, up to the stop. A round that is broken off is dropped whole."""
        while not self.asked():
            try:
                try:
                    self._computing = True
                    if self.asked():  # it came since the line above the last
                        return
                    item = next(rounds, None)
                finally:
                    self._computing = False
            except KeyboardInterrupt:
                self.ask()
                return
            if item is None:
                return
            yield item


@contextmanager
def hold_signals() -> Iterator[Stop]:
    """Hold back SIGINT and SIGTERM; on the way out, raise `Stopped` if one of them has come.

    A signal that the process ignores (as under nohup) stays ignored. Outside the main thread, where
    Python allows no handlers, nothing is held back.
    """
    stop = Stop()
    before = {number: signal.signal(number, stop.handle) for number in _heeded()}
    try:
        yield stop
    finally:
        for number, handler in reversed(before.items()):
            signal.signal(number, handler)
    if stop.number is not None:
        raise Stopped(stop.number)


def _heeded() -> list[int]:
    """The signals that would stop this process now and whose handlers can be put back later."""
    if threading.current_thread() is not threading.main_thread():
        return []
    both = (signal.SIGINT, signal.SIGTERM)
    return [number for number in both if signal.getsignal(number) not in (signal.SIG_IGN, None)]
