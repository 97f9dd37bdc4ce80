"""Workload B: the paper's CNN, 10,000 MNIST images, 5 clients, batches of 100, evaluated every round."""

from benchmarks.loops.torch_loops import PlainLoop, TightLoop
from benchmarks.ours import simulated
from benchmarks.race import Contestant, race, repeated
from benchmarks.tables import Table, Target, timing_table
from bherd.config import Config
from bherd.tasks.datasets import Dataset, load_dataset
from bherd.tasks.task import Task, build_task

PLAIN = "plain PyTorch loop"
NOTE = (
    "tau = 20 local steps a client, d = 434,186; test accuracy on 10,000 images after every round. The loops "
    "give both cores to each operation, ours gives one to each of two clients. Minima and medians over "
    "{turns} turns in one interleaved run."
)
LONG_NOTE = "The same with 60,000 images, tau = 120: only ours, evaluated every round. {turns} turns."


def images(count: int) -> Task:
    """The first images of MNIST, dealt IID to 5 clients."""
    data = load_dataset("mnist")
    part = Dataset(
        data.name, data.x_train[:count], data.y_train[:count], data.x_test, data.y_test, data.classes
    )
    return build_task(part, "cnn", "case1", 5, seed=0)


def base(rounds: int) -> Config:
    """The settings of workload B."""
    return Config().replace(
        name="fedavg",
        model="cnn",
        clients=5,
        batch_size=100,
        lr=0.01,
        order="fixed",
        rounds=rounds,
        eval_train=False,
        workers=2,
    )


def run(turns: int = 5) -> list[Table]:
    """Measure at tau = 20."""
    task, config = images(10_000), base(3)
    plain = PlainLoop(task, 100, 0.01, lambda: range(5), evaluate=True)
    tight = TightLoop(task, 100, 0.01, lambda: range(5), evaluate=True)
    contestants = [
        Contestant(PLAIN, repeated(plain.round, 1, warm=0), threads=2),
        Contestant("tight PyTorch loop", repeated(tight.round, 1, warm=0), threads=2),
        simulated("fedavg, two cores", config, task, skip=0),
        simulated("bherd-fedavg, two cores", config.replace(name="bherd-fedavg"), task, skip=0),
    ]
    targets = [
        Target("fedavg, two cores", PLAIN, 0.8),
        Target("bherd-fedavg, two cores", "fedavg, two cores", 1.1),
    ]
    title = "B: CNN, 10,000 images of MNIST, 5 clients, B = 100"
    return [timing_table(title, NOTE.format(turns=turns), race(contestants, turns), PLAIN, targets)]


def run_long(turns: int = 5) -> list[Table]:
    """Measure BHerd against FedAvg at tau = 120."""
    task, config = images(60_000), base(2)
    fedavg, bherd = "fedavg, two cores", "bherd-fedavg, two cores"
    contestants = [
        simulated(fedavg, config, task, skip=0),
        simulated(bherd, config.replace(name="bherd-fedavg"), task, skip=0),
    ]
    title = "B: the same with 60,000 images"
    timings = race(contestants, turns)
    return [timing_table(title, LONG_NOTE.format(turns=turns), timings, fedavg, [Target(bherd, fedavg, 1.1)])]
