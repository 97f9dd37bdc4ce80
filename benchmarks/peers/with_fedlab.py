"""FedLab: its serial trainer and synchronous server in the standalone pipeline, in one process.

Loaders are lists of slices in memory; clients are weighted by their samples; logging is off.
"""

import logging
from collections.abc import Sequence

import torch
from torch import Tensor

from benchmarks.peers.handout import Clock, Handout, Pair, accuracy, build, load, loss_of, path_given, report
from benchmarks.peers.torchvision_stub import import_torchvision

import_torchvision()

from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer  # noqa: E402
from fedlab.contrib.algorithm.basic_server import SyncServerHandler  # noqa: E402
from fedlab.contrib.dataset.basic_dataset import FedDataset  # noqa: E402
from fedlab.core.standalone import StandalonePipeline  # noqa: E402
from fedlab.utils.aggregator import Aggregators  # noqa: E402
from fedlab.utils.serialization import SerializationTool  # noqa: E402


class Samples(FedDataset):
    """Batches of every client, sliced once."""

    def __init__(self, handout: Handout) -> None:
        super().__init__()
        self.batches = [handout.batches(client) for client in range(len(handout.clients))]

    def get_dataloader(self, id: int, batch_size: int, type: str = "train") -> list[Pair]:
        del batch_size, type
        return self.batches[id]


class Planned(SyncServerHandler):
    """FedLab's server with the participants given, weighted by their samples."""

    handout: Handout

    def sample_clients(self) -> Sequence[int]:
        self.cohort = self.handout.cohorts[self.round]
        return self.cohort

    def global_update(self, buffer: list[list[Tensor]]) -> None:
        sizes = torch.tensor([float(self.handout.size(client)) for client in self.cohort])
        mean = Aggregators.fedavg_aggregate([reply[0] for reply in buffer], sizes)
        SerializationTool.deserialize_model(self._model, mean)


class Watched(StandalonePipeline):
    """FedLab's loop, whose evaluation is ours and notes the time."""

    handout: Handout
    clock: Clock

    def evaluate(self) -> None:
        due = self.handout.due(len(self.clock.ends) + 1)
        reached = accuracy(self.handler.model, self.handout.test) if due else None
        self.clock.round_over(reached)


def main() -> None:
    """Run the workload in the file that is given."""
    logging.disable(logging.INFO)
    handout, clock = load(path_given()), Clock()
    trainer = SGDSerialClientTrainer(build(handout), len(handout.clients))
    trainer.setup_dataset(Samples(handout))
    trainer.setup_optim(1, handout.batch, handout.lr)
    trainer.criterion = loss_of(handout)
    server = Planned(build(handout), handout.rounds, handout.share)
    server.handout = handout
    pipeline = Watched(server, trainer)
    pipeline.handout, pipeline.clock = handout, clock
    pipeline.main()
    report(clock)


if __name__ == "__main__":
    main()
