"""Work spread over processes of one core each, which end when the process that gave it ends."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import connection
from typing import TypeVar

from bherd.errors import BherdError
from bherd.runs.stopping import hold_signals

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def in_processes(
    function: Callable[[Item], Answer],
    items: Sequence[Item],
    processes: int,
    *,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[Answer]:
    """The answers of `function` as they come, for items begun in order; on one process, in this one.

    `meanwhile` is called once when other processes have begun to work: a place for what this one would
    otherwise do before them or after them, such as slow imports. Ctrl-C waits until it is done.
    Ctrl-C, or any error, ends the work: items that wait are dropped, and those under way are told to stop
    by SIGTERM, which a run answers with a checkpoint.
    """
    if processes == 1 or len(items) <= 1:
        yield from map(function, items)
        return
    with _one_thread_each():
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(processes, len(items)), mp_context=context, initializer=_begin_worker)
        try:
            with _interrupts_ignored():  # the workers inherit it: Ctrl-C is for this process to handle
                pending = {pool.submit(_call, function, item) for item in items}
            if meanwhile is not None:
                with hold_signals():  # an import that is broken off leaves half a module behind
                    meanwhile()
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool as error:
            raise BherdError(
                "a process that did the runs was killed from outside, perhaps for want of memory; "
                "what is done is kept: start the same command again, with fewer --jobs if memory is short"
            ) from error
        except BaseException:
            for child in multiprocessing.active_children():
                child.terminate()
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _call(function: Callable[[Item], Answer], item: Item) -> Answer:
    """In a worker: one item. A run that was stopped is the last that this process begins."""
    try:
        return function(item)
    except KeyboardInterrupt:
        os._exit(1)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin_worker() -> None:
    """Import what every run needs, and do not outlive the process that gives the work."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(1)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let the libraries in the worker processes use one core each: there is a process for each core."""
    variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(dict.fromkeys(variables, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
