"""Flower's own strategies as oracles: the models that they give for the same updates."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg
from flwr.supercore.task_identity import TaskIdentity
from torch import Tensor


def flower_rounds(
    strategy: FedAvg, start: Tensor, rounds: Sequence[Tensor], samples: Sequence[int]
) -> list[Tensor]:
    """The server's model after each round.

    Args:
        strategy: with `fraction_train=0`, so that it asks no grid for its nodes.
        start: the first model.
        rounds: for each round what every client takes off the server's model, of shape (clients, d).
        samples: the number of each client's samples.
    """
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    params, found = start, []
    for number, moves in enumerate(rounds, start=1):
        assert list(strategy.configure_train(number, _record(params), ConfigRecord(), cast(Grid, None))) == []
        replies = [_reply(params - move, count) for move, count in zip(moves, samples, strict=True)]
        arrays, _ = strategy.aggregate_train(number, replies)
        assert arrays is not None
        params = torch.from_numpy(np.array(arrays["w"].numpy()))
        found.append(params)
    return found


def _record(model: Tensor) -> ArrayRecord:
    return ArrayRecord({"w": Array(model.numpy().copy())})


def _reply(model: Tensor, samples: int) -> Message:
    content = RecordDict({"arrays": _record(model), "metrics": MetricRecord({"num-examples": samples})})
    return Message(content, reply_to=Message(RecordDict(), 1, "train"))
