"""pfl: its federated averaging on the simulated backend, in one process.

Samples are tensors in memory that pfl slices; users are weighted by their samples. The local evaluation
is off, except in the first iteration, where pfl insists on it: the first round is not counted.
"""

import logging
from collections.abc import Iterator
from itertools import chain, cycle
from typing import Any

import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByDatapoints
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.callback.central_evaluation import CentralEvaluationCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch import Tensor

from benchmarks.peers.handout import Clock, Handout, build, hits, load, loss_of, path_given, report

NEVER = 10**9
ACCURACY = "Central val | accuracy"


class Module(torch.nn.Module):
    """The model with the two methods that pfl asks for."""

    def __init__(self, handout: Handout) -> None:
        super().__init__()
        self.inner, self.mean_loss = build(handout), loss_of(handout)

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        return self.mean_loss(self.inner(x), y)

    @torch.no_grad()
    def metrics(self, x: Tensor, y: Tensor) -> dict[str, Weighted]:
        return {"accuracy": Weighted(hits(self.inner(x), y), len(y))}


class Watch(TrainingProcessCallback):
    """Notes the end of each iteration, and the accuracy that the callback before it took."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def after_central_iteration(
        self, aggregate_metrics: Metrics, model: Any, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        del model, central_iteration
        found = [value.overall_value for key, value in aggregate_metrics if ACCURACY in str(key)]
        self.clock.round_over(float(found[-1]) if found else None)
        return False, Metrics()


def users(handout: Handout) -> Iterator[int]:
    """The participants in turn; pfl takes as many as a cohort has."""
    return cycle(chain.from_iterable(handout.cohorts))


def main() -> None:
    """Run the workload in the file that is given."""
    logging.getLogger().setLevel(logging.WARNING)
    handout = load(path_given())
    module, order, clock = Module(handout), users(handout), Clock()
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(module.parameters(), lr=1.0))
    data = FederatedDataset(
        lambda user: Dataset(raw_data=list(handout.clients[user]), user_id=str(user)), lambda: next(order)
    )
    backend = SimulatedBackend(data, data, postprocessors=[WeightByDatapoints()])
    evaluation = NNEvalHyperParams(1000)
    frequency = handout.rounds - 1 if handout.evaluate_last_only else 1
    watchers = [
        CentralEvaluationCallback(Dataset(raw_data=list(handout.test)), evaluation, frequency=frequency),
        Watch(clock),
    ]
    training = NNTrainHyperParams(
        local_batch_size=handout.batch, local_num_epochs=1, local_learning_rate=handout.lr
    )
    settings = NNAlgorithmParams(handout.rounds, NEVER, len(handout.cohorts[0]), None)
    FederatedAveraging().run(
        settings, backend, model, training, evaluation, watchers, send_metrics_to_platform=False
    )
    report(clock)


if __name__ == "__main__":
    main()
