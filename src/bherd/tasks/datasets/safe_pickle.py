"""Reads the pickles of ``cifar-10-batches-py`` without running anything they ask for.

A pickle is a program which may call any function it names. Here every name but the few that numpy
itself writes is refused, and even those resolve to inert stand-ins which only note what they were
given. The array is then built by us, from a checked dtype, a checked shape and plain bytes.
"""

import io
import pickle
import pickletools
from pathlib import Path
from typing import Never, final

import numpy as np
import numpy.typing as npt

from bherd.errors import DamagedFileError, InputError

LARGEST = 1 << 28
READABLE_DTYPES = ("|u1", "<i4", "<i8")


class _RefusedError(Exception):
    """The pickle asks for something that is not plain data."""


# Each stand-in has a __setstate__ so that a BUILD aimed at the class itself fails instead of
# setting attributes on it.


@final
class _ArrayClass:
    """Stands for ``numpy.ndarray``, which a pickle names only as an argument."""

    def __new__(cls) -> Never:
        raise _RefusedError("an array made in an unusual way")

    def __setstate__(self, state: object) -> None:
        raise _RefusedError("an array made in an unusual way")


@final
class _DType:
    """Stands for ``numpy.dtype``: a code such as ``u1`` and, from the state, the byte order."""

    def __init__(self, code: object, *_: object) -> None:
        self.code = code.decode("latin1") if isinstance(code, bytes) else code
        self.order: object = "|"

    def __setstate__(self, state: object) -> None:
        if isinstance(state, tuple) and len(state) > 1:
            order = state[1]
            self.order = order.decode("latin1") if isinstance(order, bytes) else order


@final
class _Reconstructed:
    """Stands for the empty array of ``_reconstruct``, filled by its state (protocols 0 to 4)."""

    def __init__(self, *_: object) -> None:
        self.state: object = None

    def __setstate__(self, state: object) -> None:
        self.state = state


@final
class _FromBuffer:
    """Stands for the array that protocol 5 makes of a buffer."""

    def __init__(self, body: object, dtype: object, shape: object, order: object) -> None:
        self.state = (1, shape, dtype, order == "F", body)

    def __setstate__(self, state: object) -> None:
        raise _RefusedError("an array made in an unusual way")


@final
class _Encode:
    """Stands for ``_codecs.encode``, by which Python 3 writes bytes in protocols 0 to 2."""

    def __call__(self, text: object, encoding: object = "latin1") -> bytes:
        if not isinstance(text, str) or encoding not in ("latin1", b"latin1"):
            raise _RefusedError("text in an unusual encoding")
        return text.encode("latin1")

    def __setstate__(self, state: object) -> None:
        raise _RefusedError("text in an unusual encoding")


STAND_INS: dict[tuple[str, str], object] = {
    ("numpy", "ndarray"): _ArrayClass,
    ("numpy", "dtype"): _DType,
    ("numpy.core.multiarray", "_reconstruct"): _Reconstructed,
    ("numpy._core.multiarray", "_reconstruct"): _Reconstructed,
    ("numpy.core.numeric", "_frombuffer"): _FromBuffer,
    ("numpy._core.numeric", "_frombuffer"): _FromBuffer,
    ("_codecs", "encode"): _Encode(),
}


@final
class _PlainDataUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in STAND_INS:
            raise _RefusedError(f"{module}.{name}")
        return STAND_INS[module, name]

    def persistent_load(self, _: object) -> Never:
        raise _RefusedError("an object kept outside the file")


def read_plain_pickle(path: Path) -> dict[str, object]:
    """The dictionary in a pickle of plain data; keys become str, arrays become numpy arrays."""
    try:
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} is too large to be a batch of CIFAR-10.")
        payload = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        _check_memo(payload)
        content = _PlainDataUnpickler(io.BytesIO(payload), encoding="bytes").load()
        return _as_dictionary(content)
    except _RefusedError as refusal:
        raise DamagedFileError(
            f"{path} was refused: it asks for {refusal}, but a dataset's pickle may hold only "
            "numbers, text, lists and plain numpy arrays. Nothing in it was run."
        ) from refusal
    except Exception as error:  # a damaged pickle may raise nearly anything
        raise DamagedFileError(f"{path} is damaged: it is not a whole pickle ({error}).") from error


def _check_memo(payload: bytes) -> None:
    """Refuses memo numbers beyond the file's own length, which would only exhaust memory."""
    for opcode, argument, _ in pickletools.genops(payload):
        is_put = opcode.name in ("PUT", "LONG_BINPUT")
        if is_put and isinstance(argument, int) and argument > len(payload):
            raise _RefusedError(f"memo number {argument}")


def _as_dictionary(content: object) -> dict[str, object]:
    if not isinstance(content, dict):
        raise ValueError(f"expected a dictionary, found {type(content).__name__}")
    plain: dict[str, object] = {}
    for key, value in content.items():
        name = key.decode("latin1") if isinstance(key, bytes) else str(key)
        recorded = isinstance(value, _Reconstructed | _FromBuffer)
        plain[name] = _as_array(value.state) if recorded else value
    return plain


def _as_array(state: object) -> npt.NDArray[np.generic]:
    match state:
        case (_, tuple() as shape, _DType() as recorded, fortran, (bytes() | bytearray()) as body):
            dtype = f"{recorded.order}{recorded.code}"
            if dtype not in READABLE_DTYPES:
                raise _RefusedError(f"an array of dtype {dtype}")
            if not all(isinstance(length, int) and length >= 0 for length in shape):
                raise ValueError(f"an array of the shape {shape}")
            flat = np.frombuffer(body, dtype=np.dtype(dtype))
            return flat.reshape(shape, order="F" if fortran else "C")
    raise ValueError("an array whose description is incomplete")
