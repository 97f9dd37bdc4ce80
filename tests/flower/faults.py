"""What can be wrong with a reply: ways to spoil one."""

from collections.abc import Callable

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MessageType, RecordDict

from bherd.flower import codec
from tests.flower.grid import Handler

Spoil = Callable[[Message, Message], Message | list[Message] | None]
"""(message, good reply) -> what arrives"""


def round_of(message: Message) -> int:
    round = message.content.config_records[codec.CONFIG][codec.ROUND]
    assert isinstance(round, int)
    return round


def spoilt(handler: Handler, spoil: Spoil, rounds: set[int]) -> Handler:
    """The same node, with its answers of some rounds spoilt."""

    def handle(message: Message) -> Message | list[Message] | None:
        reply = handler(message)
        if message.metadata.message_type != MessageType.TRAIN or round_of(message) not in rounds:
            return reply
        assert isinstance(reply, Message)
        return spoil(message, reply)

    return handle


def arrays_of(reply: Message) -> dict[str, np.ndarray]:
    return {key: array.numpy() for key, array in reply.content.array_records[codec.REPORT].items()}


def resent(
    message: Message, reply: Message, arrays: dict[str, np.ndarray], *, honest: bool = True
) -> Message:
    """The reply with other arrays, and a checksum that fits them unless they are to look altered."""
    content = RecordDict(dict(reply.content))
    content[codec.REPORT] = ArrayRecord({key: Array(values) for key, values in arrays.items()})
    if honest:
        note = dict(reply.content.config_records[codec.NOTE])
        content[codec.NOTE] = ConfigRecord({**note, "sha256": codec.checksum(arrays)})
    return Message(content, reply_to=message)


def with_sum(change: Callable[[np.ndarray], np.ndarray], *, honest: bool = True) -> Spoil:
    def spoil(message: Message, reply: Message) -> Message:
        arrays = arrays_of(reply)
        arrays[codec.UPDATE] = change(arrays[codec.UPDATE].copy())
        return resent(message, reply, arrays, honest=honest)

    return spoil


def nan(values: np.ndarray) -> np.ndarray:
    values[3] = np.nan
    return values


def with_note(**changes: object) -> Spoil:
    def spoil(message: Message, reply: Message) -> Message:
        content = RecordDict(dict(reply.content))
        note = {**reply.content.config_records[codec.NOTE], **changes}
        content[codec.NOTE] = ConfigRecord(note)  # type: ignore[arg-type]
        return Message(content, reply_to=message)

    return spoil


def with_metric(**changes: float) -> Spoil:
    def spoil(message: Message, reply: Message) -> Message:
        metrics = reply.content.metric_records[codec.METRICS]
        for key, value in changes.items():
            metrics[key.replace("_", "-")] = value
        return Message(reply.content, reply_to=message)

    return spoil


def raises(message: Message, reply: Message) -> Message:
    del reply
    return Message(Error(code=2, reason="ValueError: no such file"), reply_to=message)


def died(message: Message, reply: Message) -> Message:
    """As Flower tells of a node that was killed: an error under the server's own id."""
    error = raises(message, reply)
    error.metadata.__dict__["_src_node_id"] = 1
    return error


def under_model_keys(message: Message, reply: Message) -> Message:
    model = message.content.array_records[codec.MODEL]
    content = RecordDict(dict(reply.content))
    content[codec.REPORT] = ArrayRecord({name: Array(array.numpy()) for name, array in model.items()})
    return Message(content, reply_to=message)


def another_app(message: Message, reply: Message) -> Message:
    del reply
    return Message(RecordDict({"arrays": message.content.array_records[codec.MODEL]}), reply_to=message)


def unreadable(message: Message, reply: Message) -> Message:
    content = RecordDict(dict(reply.content))
    broken = Array(dtype="float64", shape=(65,), stype="numpy.ndarray", data=b"nonsense")
    content[codec.REPORT] = ArrayRecord({codec.UPDATE: broken, codec.MESSAGE + "change": broken})
    return Message(content, reply_to=message)


FAULTS: dict[str, tuple[str, Spoil]] = {
    "raises": ("error", raises),
    "died": ("error", died),
    "nan": ("not-finite", with_sum(nan)),
    "infinity": ("not-finite", with_sum(lambda values: np.full_like(values, np.inf))),
    "too long": ("shape", with_sum(lambda values: np.append(values, 1.0))),
    "one number": ("shape", with_sum(lambda values: values[:1])),
    "a column": ("shape", with_sum(lambda values: values[:, None])),
    "other dtype": ("dtype", with_sum(lambda values: values.astype(np.float32))),
    "text": ("dtype", with_sum(lambda values: values.astype(str))),
    "unreadable": ("dtype", unreadable),
    "clipped on the way": ("altered", with_sum(lambda values: 0.5 * values, honest=False)),
    "model's keys": ("keys", under_model_keys),
    "another app": ("keys", another_app),
    "another client": ("keys", with_note(client=0)),
    "old round": ("stale", with_note(round=1)),
    "no weight": ("numbers", with_metric(num_examples=0)),
    "too much weight": ("numbers", with_metric(num_examples=1e9)),
    "a lie about what the kept steps count": ("numbers", with_metric(kept_weight=0.5)),
    "nan loss": ("numbers", with_metric(loss=float("nan"))),
    "steps that are not there": ("numbers", with_note(kept=[0, 99])),
    "steps twice": ("numbers", with_note(kept=[0, 0])),
    "no steps": ("numbers", with_note(kept=[])),
    "diverged": ("diverged", with_note(refusal="diverged", reason="NaN")),
    "silent": ("missing", lambda _message, _reply: None),
}
