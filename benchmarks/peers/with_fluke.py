"""fluke: its centralized algorithm, in one process.

Its own loader slices tensors in memory, without shuffling. Only the server evaluates, and by accuracy
alone, instead of the seven measures that fluke takes by default.
"""

from collections.abc import Sequence
from typing import Any

from torch import nn

from benchmarks.peers.handout import Clock, Handout, accuracy, build, load, loss_of, path_given, report
from benchmarks.peers.torchvision_stub import import_torchvision

import_torchvision()

from fluke import DDict, FlukeENV  # noqa: E402
from fluke.algorithms import CentralizedFL  # noqa: E402
from fluke.client import Client  # noqa: E402
from fluke.config import OptimizerConfigurator  # noqa: E402
from fluke.data import FastDataLoader  # noqa: E402
from fluke.evaluation import Evaluator  # noqa: E402
from fluke.server import Server  # noqa: E402


class Accuracy(Evaluator):
    """Test accuracy after the rounds that ask for it, and nothing else."""

    def __init__(self, handout: Handout) -> None:
        super().__init__()
        self.handout = handout
        self.reached: dict[int, float] = {}

    def evaluate(self, round: int, model: nn.Module, *_: Any, **__: Any) -> dict[str, float]:
        if self.handout.due(round) and round not in self.reached:
            self.reached[round] = accuracy(model, self.handout.test)
        return {}


class Planned(Server):
    """fluke's server with the participants given, round by round."""

    plan: list[list[int]]
    clock: Clock

    def get_eligible_clients(self, eligible_perc: float) -> Sequence[Client]:
        del eligible_perc
        return [self.clients[client] for client in self.plan[len(self.clock.ends)]]


class Watch:
    """Told by fluke when a round is over."""

    def __init__(self, clock: Clock, evaluator: Accuracy) -> None:
        self.clock, self.evaluator = clock, evaluator

    def end_round(self, round: int) -> None:
        self.clock.round_over(self.evaluator.reached.get(round))


def main() -> None:
    """Run the workload in the file that is given."""
    handout = load(path_given())
    clock, evaluator = Clock(), Accuracy(handout)
    settings = FlukeENV()
    settings.set_seed(0)
    settings.set_device("cpu")
    settings.set_inmemory(True)
    settings.set_eval_cfg(pre_fit=False, post_fit=False, locals=False, server=True)
    settings.set_evaluator(evaluator)
    sgd = OptimizerConfigurator(DDict(name="SGD", lr=handout.lr))
    clients = [
        Client(
            index=index,
            train_set=FastDataLoader(x, y, num_labels=10, batch_size=handout.batch),
            test_set=None,
            optimizer_cfg=sgd,
            loss_fn=loss_of(handout),
            local_epochs=1,
        )
        for index, (x, y) in enumerate(handout.clients)
    ]
    test = FastDataLoader(*handout.test, num_labels=10, batch_size=1000)
    server = Planned(build(handout), test, clients, weighted=True)
    server.plan, server.clock = handout.cohorts, clock
    algorithm = CentralizedFL(len(clients), None, DDict(), clients=clients, server=server)
    algorithm.attach(Watch(clock, evaluator))
    algorithm.run(handout.rounds, handout.share)
    report(clock)


if __name__ == "__main__":
    main()
