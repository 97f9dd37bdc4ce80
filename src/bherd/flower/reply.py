"""For a Flower ClientApp with a PyTorch loop of its own: the collector's update as a reply.

collector = Collector(model, alpha=0.5)                                 # before the loop
    collector.record()                                                  # after loss.backward()
return weights_reply(message, collector, lr=0.01, num_examples=n)       # instead of Message(...)
"""

from collections.abc import Mapping

import torch
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict

from bherd.client import Outcome
from bherd.collector import Collector, Update
from bherd.corrections import no_correction
from bherd.errors import InputError
from bherd.flower import codec
from bherd.flower.settings import check_weights_form
from bherd.method import Method, Report, aggregate
from bherd.servers import average
from bherd.tasks.flat import ravel_buffers


def weights_reply(
    message: Message,
    collector: Collector,
    *,
    lr: float,
    num_examples: int,
    epochs: float = 1.0,
    metrics: Mapping[str, float] | None = None,
) -> Message:
    """A reply with the model that the herded update leads to, for stock strategies.

    Args:
        message: the server's message, with the model that local training began from.
        collector: what recorded the gradients of every local step.
        lr: the learning rate of the local steps (plain SGD).
        num_examples: the number of this client's samples, its weight in the average.
        epochs: the number of local epochs, the factor E of the paper's aggregation.
        metrics: numbers of your own to send along; the same keys on every client.

    Buffers, such as BatchNorm's statistics, are sent as the local training left them.
    """
    method = Method(no_correction(), collector.selector, average())
    check_weights_form(method)
    layout = codec.layout_of(collector.model)
    (key, asked), *others = message.content.array_records.items()
    if others:
        raise InputError(f"the server sent {1 + len(others)} array records, but one, the model, is expected")
    start, _ = codec.decode_model(layout, asked)
    update = collector.herd()
    report = _report(update, num_examples, client=0)
    params = aggregate(method, start, [report], local_lr=lr, epochs=epochs)
    arrays = codec.encode_model(layout, params, ravel_buffers(collector.model), rest=asked)
    ordered: dict[str, Array] = {name: arrays[name] for name in asked}
    numbers = {
        **(metrics or {}),
        codec.EXAMPLES: num_examples,
        "steps": update.steps,
        "kept": len(update.kept),
    }
    content = RecordDict({key: ArrayRecord(ordered), codec.METRICS: MetricRecord({**numbers})})
    return Message(content, reply_to=message)


def sum_reply(
    message: Message, collector: Collector, *, client: int, num_examples: int, loss: float
) -> Message:
    """A reply with the sum of the kept gradients, for `HerdStrategy`.

    `client` is the number of this client, its node's partition-id; `loss` is the mean of the batch
    losses. It serves every method without a correction; SCAFFOLD changes the steps themselves and
    needs bherd's own client.
    """
    round = message.content.config_records[codec.CONFIG][codec.ROUND]
    if not isinstance(round, int):
        raise InputError(f"the server sent round {round!r}, but a whole number is expected")
    if codec.STATE in message.content.array_records:
        raise InputError(
            "the server's method corrects every local step (SCAFFOLD), which a loop of your own does not "
            "do: use bherd.flower.client_app on the clients, or a method without a correction"
        )
    update = collector.herd()
    report = _report(update, num_examples, client)._replace(buffers=ravel_buffers(collector.model))
    outcome = Outcome(report, report.kept_sum.new_zeros(0), update.kept, loss, 0.0, 0.0, 0.0)
    return Message(codec.encode_answer(outcome, round), reply_to=message)


def _report(update: Update, num_examples: int, client: int) -> Report:
    total = update.total.detach().to(torch.device("cpu"))
    return Report(client, float(num_examples), update.steps, len(update.kept), total)
