"""The check of the replies: what a client sends counts only if it can be what was asked for.

Each reply becomes an `Outcome`, the same as a local engine's, or a `Rejection` that says why not. A
rejected reply changes nothing: the round goes on with the others, whose weights then sum to 1.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from flwr.app import ConfigRecord, Message, MetricRecord, RecordDict
from torch import Tensor

from bherd.flower import codec
from bherd.flower.codec import Layout
from bherd.loop.client import Outcome
from bherd.parts.records import Report

DIVERGED = "diverged"
RECEIPT = "receipt"
"""Where a client's memory would be on the server, the number of its last round that counts."""


class ClientNode(NamedTuple):
    """A client of the federation and the node that runs it."""

    node_id: int
    client: int


class Rejection(NamedTuple):
    """A reply that did not count, or an answer that did not come."""

    round: int
    node: int
    client: int
    kind: str
    """error, refused, diverged, keys, dtype, shape, altered, not-finite, norm, numbers, duplicate,
    stale, late or missing."""
    detail: str

    def line(self) -> bytes:
        """As a line of rejections.jsonl."""
        return json.dumps(self._asdict()).encode() + b"\n"


@dataclass(frozen=True)
class Expected:
    """What the replies of a round must look like."""

    round: int
    layout: Layout
    message: Mapping[str, Tensor]
    """What the correction's message looks like."""
    weighted: bool = False
    """Whether the kept steps have weights of their own."""
    max_norm: float | None = None
    """Bound on the norm of a sum of gradients; None: no bound."""
    weights: Mapping[int, float] | None = None
    """The number of samples of each client, where the server knows them."""


class Checked(NamedTuple):
    """The replies of a round, checked: those that count and those that do not."""

    outcomes: list[Outcome]
    """Sorted by client."""
    rejections: list[Rejection]


class _RejectedError(Exception):
    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def check_replies(expected: Expected, asked: Mapping[str, ClientNode], replies: Iterable[Message]) -> Checked:
    """Check the replies to the messages `asked`, by their ids; the first good one of a client counts.

    The node of a reply is the one that the message went to: where a node has died, Flower answers
    in its place, under another id.
    """
    accepted: dict[int, Outcome] = {}
    rejections: list[Rejection] = []
    for reply in replies:
        node = asked.get(reply.metadata.reply_to_message_id)
        if node is None:
            client = named_client(reply)
            source = ClientNode(reply.metadata.src_node_id, -1 if client is None else client)
            rejections.append(
                Rejection(expected.round, *source, "stale", "answers a message that is not of this round")
            )
            continue
        try:
            if node.client in accepted:
                raise _RejectedError("duplicate", "a second answer in the same round")
            accepted[node.client] = _outcome(expected, node.client, reply)
        except _RejectedError as error:
            rejections.append(Rejection(expected.round, *node, error.kind, str(error)))
    return Checked([accepted[client] for client in sorted(accepted)], rejections)


def named_client(reply: Message) -> int | None:
    """The client that a reply says it is from, if it says so."""
    if not reply.has_content() or codec.NOTE not in reply.content.config_records:
        return None
    client = reply.content.config_records[codec.NOTE].get("client")
    return client if isinstance(client, int) else None


def _outcome(expected: Expected, client: int, reply: Message) -> Outcome:
    if reply.has_error():
        raise _RejectedError("error", reply.error.reason or f"error code {reply.error.code}")
    content = reply.content
    note = content.config_records.get(codec.NOTE)
    if note is None:
        raise _RejectedError("keys", f"the reply has no record {codec.NOTE!r}: is it from another app?")
    if note.get("round") != expected.round:
        raise _RejectedError("stale", f"the reply is of round {note.get('round')!r}")
    if note.get("client") != client:
        raise _RejectedError("keys", f"the reply says that it is from client {note.get('client')!r}")
    if "refusal" in note:
        kind = DIVERGED if note["refusal"] == DIVERGED else "refused"
        raise _RejectedError(kind, str(note.get("reason", "")))
    arrays = _arrays(expected, content, note)
    metrics = content.metric_records.get(codec.METRICS)
    if metrics is None:
        raise _RejectedError("keys", f"the reply has no record {codec.METRICS!r}")
    return _from_numbers(expected, client, metrics, note, arrays)


def _arrays(expected: Expected, content: RecordDict, note: ConfigRecord) -> dict[str, Tensor]:
    """The arrays of the reply, each found to be of the right kind."""
    layout = expected.layout
    sizes: dict[str, tuple[tuple[int, ...], torch.dtype]] = {codec.UPDATE: ((layout.size,), layout.dtype)}
    for name, tensor in expected.message.items():
        sizes[codec.MESSAGE + name] = (tuple(tensor.shape), tensor.dtype)
    if layout.buffers:
        sizes[codec.BUFFERS] = ((layout.buffer_size,), torch.float64)
    record = content.array_records.get(codec.REPORT)
    if record is None or len(content.array_records) != 1 or set(record) != set(sizes):
        found = {name: sorted(arrays) for name, arrays in content.array_records.items()}
        raise _RejectedError("keys", f"expected {codec.REPORT}: {sorted(sizes)}, found {found}")
    try:
        plain = {key: np.array(array.numpy()) for key, array in record.items()}
    except Exception as error:  # numpy raises many kinds on bytes that are no array
        raise _RejectedError("dtype", f"the arrays cannot be read: {error}") from error
    for key, (shape, dtype) in sizes.items():
        wanted = torch.empty(0, dtype=dtype).numpy().dtype
        if plain[key].dtype != wanted:
            raise _RejectedError("dtype", f"{key} is {plain[key].dtype}, but {wanted} is expected")
        if plain[key].shape != shape:
            raise _RejectedError("shape", f"{key} has shape {plain[key].shape}, but {shape} is expected")
        if not bool(np.isfinite(plain[key]).all()):
            raise _RejectedError("not-finite", f"{key} contains NaN or infinity")
    if codec.checksum(plain) != note.get("sha256"):
        raise _RejectedError(
            "altered",
            "the arrays are not those that the client sent: a mod or wrapper made for models has "
            "changed them; use the weights form with those",
        )
    tensors = {key: torch.from_numpy(values) for key, values in plain.items()}
    norm = float(torch.linalg.vector_norm(tensors[codec.UPDATE].double()))
    if expected.max_norm is not None and norm > expected.max_norm:
        raise _RejectedError(
            "norm", f"the sum of gradients has norm {norm:.6g}, beyond the bound {expected.max_norm:.6g}"
        )
    return tensors


def _from_numbers(
    expected: Expected, client: int, metrics: MetricRecord, note: ConfigRecord, arrays: dict[str, Tensor]
) -> Outcome:
    weight, steps, count = (_number(metrics, key) for key in (codec.EXAMPLES, "steps", "kept"))
    loss, distance, chance = (_number(metrics, key) for key in ("loss", "distance", "random-distance"))
    local, select = _number(metrics, "local-seconds"), _number(metrics, "select-seconds")
    if weight <= 0:
        raise _RejectedError("numbers", f"{codec.EXAMPLES} is {weight}, but it must be positive")
    if expected.weights is not None and weight != expected.weights[client]:
        raise _RejectedError(
            "numbers", f"{codec.EXAMPLES} is {weight:g}, but client {client} has {expected.weights[client]:g}"
        )
    listed = note.get("kept")
    if not isinstance(listed, list) or not all(isinstance(step, int) for step in listed):
        raise _RejectedError("numbers", "the kept steps are not a list of whole numbers")
    kept = np.array(listed, dtype=np.int64)
    inside = bool(((kept >= 0) & (kept < steps)).all())
    if len(kept) < 1 or len(kept) != count or len(np.unique(kept)) != len(kept) or not inside:
        raise _RejectedError("numbers", f"{count:g} of {steps:g} steps kept, but the list has {len(kept)}")
    counted = _number(metrics, "kept-weight")
    if counted <= 0 or (counted != len(kept) and not expected.weighted):
        raise _RejectedError("numbers", f"{len(kept)} steps kept count {counted:g} together")
    update = arrays[codec.UPDATE]
    report = Report(
        client,
        weight,
        int(steps),
        len(kept),
        update,
        kept_weight=counted,
        message={name: arrays[codec.MESSAGE + name] for name in expected.message},
        buffers=arrays.get(codec.BUFFERS),
        bits=8.0 * update.nbytes,
    )
    memory = {RECEIPT: {"round": torch.tensor([expected.round])}} if note.get("remembers") is True else {}
    return Outcome(report, memory, kept, loss, distance, chance, local, select)


def _number(metrics: MetricRecord, key: str) -> float:
    value = metrics.get(key)
    if isinstance(value, list) or value is None or not math.isfinite(value):
        raise _RejectedError("numbers", f"{key} is {value!r}, but a finite number is expected")
    return value
