"""What travels: a model as named arrays, an instruction to a client, a client's answer.

A model travels under its own names, as in any Flower app. Everything else (a sum of gradients, the
shared state of a correction) travels under keys that begin with `bherd.`, so that nothing made for
models, such as a clipping mod, can take it for one; and with a checksum, so that a change on the way
is noticed.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from torch import Tensor, nn

from bherd.errors import InputError
from bherd.loop.client import Outcome
from bherd.parts.part import Tensors
from bherd.tasks.flat import persistent_buffers, trainable

MODEL = "arrays"
CONFIG = "config"
METRICS = "metrics"
STATE = "bherd.state"
REPORT = "bherd.report"
NOTE = "bherd.note"

ROUND = "server-round"
EXAMPLES = "num-examples"
SHARED = "bherd.shared."
ACKNOWLEDGED = "bherd.acknowledged"
FEDERATION = "bherd.federation"
IDENTITY = "bherd.identity"
METHOD = "bherd.method"
LOCAL_LR = "bherd.local-lr"
UPDATE = "bherd.update"
MESSAGE = "bherd.message."
BUFFERS = "bherd.buffers"

Numbers = npt.NDArray[np.generic]


class Slot(NamedTuple):
    """One array of a model."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True)
class Layout:
    """How a module's parameters and buffers lie in flat vectors."""

    parameters: tuple[Slot, ...]
    buffers: tuple[Slot, ...]

    @property
    def size(self) -> int:
        """Length d of the parameter vector."""
        return sum(slot.size for slot in self.parameters)

    @property
    def buffer_size(self) -> int:
        return sum(slot.size for slot in self.buffers)

    @property
    def dtype(self) -> torch.dtype:
        return self.parameters[0].dtype


def layout_of(module: nn.Module) -> Layout:
    """The layout that `ravel` and `ravel_buffers` give a module."""

    def slots(named: list[tuple[str, Tensor]]) -> tuple[Slot, ...]:
        return tuple(Slot(name, tuple(tensor.shape), tensor.dtype) for name, tensor in named)

    return Layout(slots(list(trainable(module))), slots(persistent_buffers(module)))


def encode_model(
    layout: Layout, params: Tensor, buffers: Tensor | None, rest: Mapping[str, Array] | None = None
) -> ArrayRecord:
    """A model's flat vectors as named arrays; `rest` is what training does not touch."""
    arrays = _split(layout.parameters, params)
    if layout.buffers and buffers is not None:
        arrays.update(_split(layout.buffers, buffers))
    known = set(arrays)
    arrays.update({name: array for name, array in (rest or {}).items() if name not in known})
    return ArrayRecord(arrays)


def _split(slots: tuple[Slot, ...], flat: Tensor) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for slot, piece in zip(slots, torch.split(flat.cpu(), [slot.size for slot in slots]), strict=True):
        values = piece if slot.dtype.is_floating_point else piece.round()
        arrays[slot.name] = Array(values.to(slot.dtype).reshape(slot.shape).numpy())
    return arrays


def decode_model(layout: Layout, record: Mapping[str, Array]) -> tuple[Tensor, Tensor | None]:
    """The flat parameters and buffers of a model that travelled as named arrays."""
    params = _join(layout.parameters, record, layout.dtype)
    buffers = _join(layout.buffers, record, torch.float64) if layout.buffers else None
    return params, buffers


def _join(slots: tuple[Slot, ...], record: Mapping[str, Array], dtype: torch.dtype) -> Tensor:
    pieces = []
    for slot in slots:
        if slot.name not in record:
            raise InputError(f"the model that arrived has no array {slot.name!r}: server and client differ")
        values = record[slot.name].numpy()
        if values.shape != slot.shape:
            raise InputError(
                f"array {slot.name!r} of the model arrived with shape {values.shape}, but this side's "
                f"model has {slot.shape}: server and client differ"
            )
        pieces.append(torch.from_numpy(np.array(values)).reshape(-1).to(dtype))
    return torch.cat(pieces)


class Instruction(NamedTuple):
    """What the server asks of one client for one round."""

    round: int
    params: Tensor
    buffers: Tensor | None
    shared: Tensors = MappingProxyType({})
    """What the correction remembers on the server."""
    acknowledged: int = 0
    """The last round of this client that counts; 0: none. Its own state of that round is the one to use."""
    federation: str = ""
    """Which federation this is, across restarts of the server."""
    local_lr: float | None = None
    """The learning rate in whose units the server takes a sum; None from a stock strategy."""
    identity: str = ""
    """The settings that decide the run, as JSON, as far as the server knows them; empty: none of them."""
    method: str = ""
    """What the clients are to do in this round: their parts by axis, as JSON."""


def encode_instruction(
    layout: Layout, instruction: Instruction, rest: Mapping[str, Array] | None = None
) -> RecordDict:
    """The content of the message to a client."""
    config = ConfigRecord(
        {
            ROUND: instruction.round,
            ACKNOWLEDGED: instruction.acknowledged,
            FEDERATION: instruction.federation,
            IDENTITY: instruction.identity,
            METHOD: instruction.method,
        }
    )
    if instruction.local_lr is not None:
        config[LOCAL_LR] = instruction.local_lr
    content = RecordDict(
        {MODEL: encode_model(layout, instruction.params, instruction.buffers, rest), CONFIG: config}
    )
    if instruction.shared:
        arrays = {SHARED + name: Array(tensor.cpu().numpy()) for name, tensor in instruction.shared.items()}
        content[STATE] = ArrayRecord(arrays)
    return content


def decode_instruction(layout: Layout, content: RecordDict) -> Instruction:
    """The instruction in a message; one from a stock strategy has a model and a round only."""
    params, buffers = decode_model(layout, content.array_records[MODEL])
    config = content.config_records[CONFIG]
    round, acknowledged = config[ROUND], config.get(ACKNOWLEDGED, 0)
    if not isinstance(round, int) or not isinstance(acknowledged, int):
        raise InputError(f"the server sent round {round!r}, but a whole number is expected")
    shared = {
        key.removeprefix(SHARED): torch.from_numpy(np.array(array.numpy()))
        for key, array in content.array_records.get(STATE, {}).items()
    }
    local_lr = config.get(LOCAL_LR)
    if local_lr is not None and not (isinstance(local_lr, int | float) and 0 < local_lr < math.inf):
        raise InputError(f"the server sent the learning rate {local_lr!r}, but a positive number is expected")
    name, identity, method = (str(config.get(key, "")) for key in (FEDERATION, IDENTITY, METHOD))
    return Instruction(round, params, buffers, shared, acknowledged, name, local_lr, identity, method)


def encode_answer(outcome: Outcome, round: int) -> RecordDict:
    """The `sum` form: a client's report, its numbers, and which steps were kept."""
    report = outcome.report
    arrays = {UPDATE: report.update, **{MESSAGE + name: t for name, t in report.message.items()}}
    if report.buffers is not None:
        arrays[BUFFERS] = report.buffers
    plain: dict[str, Numbers] = {key: tensor.detach().cpu().numpy() for key, tensor in arrays.items()}
    note = ConfigRecord(
        {
            "round": round,
            "client": report.client,
            "kept": outcome.kept.tolist(),
            "remembers": bool(outcome.memory),
            "sha256": checksum(plain),
        }
    )
    return RecordDict(
        {
            REPORT: ArrayRecord({key: Array(values) for key, values in plain.items()}),
            METRICS: _metrics(outcome),
            NOTE: note,
        }
    )


def encode_weights(outcome: Outcome, model: ArrayRecord) -> RecordDict:
    """The `weights` form: a model and the numbers that stock strategies average."""
    return RecordDict({MODEL: model, METRICS: _metrics(outcome)})


def encode_refusal(client: int, round: int, kind: str, reason: str) -> RecordDict:
    """A client's statement that it has nothing to send in this round, and why."""
    note: dict[str, int | str] = {"round": round, "client": client, "refusal": kind, "reason": reason}
    return RecordDict({NOTE: ConfigRecord({**note})})


def _metrics(outcome: Outcome) -> MetricRecord:
    report = outcome.report
    return MetricRecord(
        {
            EXAMPLES: int(report.weight) if float(report.weight).is_integer() else report.weight,
            "steps": report.steps,
            "kept": report.kept,
            "kept-weight": report.counted,
            "loss": outcome.loss,
            "distance": outcome.distance,
            "random-distance": outcome.random_distance,
            "local-seconds": outcome.local_seconds,
            "select-seconds": outcome.select_seconds,
        }
    )


def checksum(arrays: Mapping[str, Numbers]) -> str:
    """SHA-256 of arrays by name, type, shape and content.

    Not of a safetensors file of them, whose layout may differ between the server's version and a client's.
    """
    digest = hashlib.sha256()
    for key in sorted(arrays):
        values = arrays[key]
        digest.update(f"{key} {values.dtype.str} {values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
