"""Compiling plain functions over numpy arrays with numba, where that pays and numba is there.

Nothing here imports numba before a function is compiled, so that short runs start at once.
"""

import functools
import importlib.util
from collections.abc import Callable
from typing import Any

REORDERED_SUMS = frozenset({"reassoc", "contract", "nsz"})
"""Leave to compile sums in any order; NaN and infinity keep their meaning."""

_compiled: list[str] = []


def available() -> bool:
    """Whether numba is installed; it is not imported."""
    return importlib.util.find_spec("numba") is not None


def in_use() -> bool:
    """Whether this process has compiled something already, so that the next one costs little."""
    return bool(_compiled)


@functools.cache
def fast(function: Callable[..., Any], reordered_sums: bool = False) -> Callable[..., Any]:
    """The function through numba, without the interpreter lock; kept on disk for the next process.

    Unless sums may be reordered, it computes the same bits as the plain function.
    """
    import numba

    _compiled.append(function.__name__)
    freedom = _freedom(reordered_sums)
    result: Callable[..., Any]
    try:
        result = numba.njit(function, nogil=True, error_model="numpy", fastmath=freedom, cache=True)
    except RuntimeError:  # there is no folder in which it could be kept
        result = numba.njit(function, nogil=True, error_model="numpy", fastmath=freedom)
    return result


@functools.cache
def make_callable(function: Callable[..., Any], reordered_sums: bool = False) -> None:
    """Let functions that are compiled from now on call this one, which is compiled with them."""
    from numba.extending import register_jitable

    register: Any = register_jitable
    register(error_model="numpy", fastmath=_freedom(reordered_sums))(function)


def _freedom(reordered_sums: bool) -> set[str] | bool:
    return set(REORDERED_SUMS) if reordered_sums else False
