"""For a Flower ClientApp with a PyTorch loop of its own: the collector's update as a reply.

collector = Collector(model, optimizer, alpha=0.5)                      # before the loop
return weights_reply(message, collector, num_examples=n)                # instead of Message(...)
"""

from collections.abc import Mapping

import torch
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from torch import Tensor

from bherd.collector import Collector, HerdedUpdate
from bherd.errors import InputError
from bherd.flower import codec
from bherd.flower.settings import check_client_half, check_weights_form
from bherd.loop.client import Outcome
from bherd.loop.server import aggregate
from bherd.method import Method
from bherd.parts.records import Report, StepLength
from bherd.tasks.flat import ravel_buffers


def weights_reply(
    message: Message,
    collector: Collector,
    *,
    num_examples: int,
    epochs: float = 1.0,
    step: StepLength = "equation",
    metrics: Mapping[str, float] | None = None,
) -> Message:
    """A reply with the model that the herded update leads to, for stock strategies.

    Args:
        message: the server's message, with the model that local training began from.
        collector: what recorded the local steps.
        num_examples: the number of this client's samples, its weight in the average.
        epochs: the number of local epochs, the factor E of the paper's aggregation.
        step: how long the herded step is: equation, amplified or matched, which has FedAvg's length.
        metrics: numbers of your own to send along; the same keys on every client.

    Raises:
        InputError: the method does not fit this form, or local training began from another model.

    Buffers, such as BatchNorm's statistics, are sent as the local training left them.
    """
    selector = collector.selector
    method = Method(selector, step=None if selector.keeps_all else step)
    check_weights_form(method)
    layout = codec.layout_of(collector.model)
    (key, asked), *others = message.content.array_records.items()
    if others:
        raise InputError(f"the server sent {1 + len(others)} array records, but one, the model, is expected")
    start, _ = codec.decode_model(layout, asked)
    update = _herd_from(collector, start)
    report = _report(update, num_examples, client=0)
    params, _ = aggregate(method, {}, start, [report], local_lr=update.rate, epochs=epochs)
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
    """A reply with the sum of the kept steps, for `HerdStrategy`.

    It is sent in units of the server's learning rate, whatever the optimizer's own was, so that the
    server moves by what the kept steps moved the local model. It serves every method without a
    correction; SCAFFOLD and FedDyn change the steps themselves and need bherd's own client.

    Args:
        message: the server's message, with the model that local training began from.
        collector: what recorded the local steps.
        client: the number of this client, its node's partition-id.
        num_examples: the number of this client's samples, its weight in the average.
        loss: the mean of the batch losses.

    Raises:
        InputError: the method does not fit this form, or local training began from another model.
    """
    layout = codec.layout_of(collector.model)
    instruction = codec.decode_instruction(layout, message.content)
    if instruction.shared:
        raise InputError(
            "the server's method corrects every local step (SCAFFOLD, FedDyn), which a loop of your own does "
            "not do: use bherd.flower.client_app on the clients, or a method without a correction"
        )
    check_client_half(
        instruction.method, Method(collector.selector), axes=("correction", "selector", "transform")
    )
    if instruction.local_lr is None:
        raise InputError("the server sent no learning rate: use HerdStrategy or bherd's ServerApp there")
    update = _herd_from(collector, instruction.params)
    report = _report(update, num_examples, client)
    scale = update.rate / instruction.local_lr
    total = (report.update * scale).to(layout.dtype)
    report = report._replace(update=total, buffers=ravel_buffers(collector.model))
    distances = scale * update.distance, scale * update.random_distance
    outcome = Outcome(report, {}, update.kept, loss, *distances, 0.0, 0.0)
    return Message(codec.encode_answer(outcome, instruction.round), reply_to=message)


def _herd_from(collector: Collector, start: Tensor) -> HerdedUpdate:
    """The herded update of a round that began from the server's parameters."""
    update = collector.herd()
    gap = float((update.start.to(start.device) - start).abs().max())
    if gap != 0:
        raise InputError(
            f"local training began from another model than the server sent, {gap:.3g} away at most: must "
            "be the same. Load the message's arrays into the model before the first step."
        )
    return update


def _report(update: HerdedUpdate, num_examples: int, client: int) -> Report:
    total = update.total.detach().to(torch.device("cpu"))
    return Report(
        client, float(num_examples), update.steps, len(update.kept), total, kept_weight=update.counted
    )
