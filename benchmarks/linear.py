"""Workload A: the SVM on all of MNIST, 5 clients, batches of 100, fixed order, evaluated every round."""

from benchmarks.loops.numpy_loop import NumpyLoop
from benchmarks.loops.torch_loops import PlainLoop, TightLoop
from benchmarks.ours import recorded, simulated
from benchmarks.race import Contestant, race, repeated
from benchmarks.tables import Table, Target, timing_table
from bherd.config import Config
from bherd.session import prepare

NUMPY = "tight numpy loop"
NOTE = (
    "Seconds of a round of training and test accuracy, minima and medians over {turns} turns in one "
    "interleaved run. 'with train loss' also takes the loss over all 60,000 training samples after every "
    "round, which our runs do unless told otherwise (`--set run.eval_train=false`) and hand-written loops "
    "do not. 'bherd run' does this too and writes the run directory, with the ledger of what was kept."
)


def base(rounds: int = 40) -> Config:
    """The settings of workload A."""
    return Config().replace(
        name="fedavg",
        dataset="mnist",
        model="svm",
        partition="case1",
        clients=5,
        batch_size=100,
        lr=1e-4,
        order="fixed",
        rounds=rounds,
        eval_train=False,
        workers=1,
    )


def run(turns: int = 7) -> list[Table]:
    """Measure, and check that all reach the same accuracy."""
    config = base()
    task = prepare(config).task
    loops = {
        NUMPY: NumpyLoop(task, 100, 1e-4, lambda: range(5), evaluate=True),
        "tight PyTorch loop": TightLoop(task, 100, 1e-4, lambda: range(5), evaluate=True),
        "plain PyTorch loop": PlainLoop(task, 100, 1e-4, lambda: range(5), evaluate=True),
    }
    contestants = [
        Contestant(name, repeated(loop.round, 5 if name == NUMPY else 1)) for name, loop in loops.items()
    ]
    both = {"workers": 2}
    for label, more in (("one core", {}), ("two cores", both)):
        for method in ("fedavg", "bherd-fedavg"):
            for suffix, train in (("", False), (", with train loss", True)):
                settings = config.replace(name=method, eval_train=train, **more)
                contestants.append(simulated(f"{method}, {label}{suffix}", settings, task))
            settings = config.replace(name=method, eval_train=True, **more)
            contestants.append(recorded(f"{method}, {label}, bherd run", settings))
    timings = race(contestants, turns)
    for same_round in zip(*(loop.accuracies for loop in loops.values()), strict=False):
        if max(same_round) - min(same_round) > 0.002:
            raise RuntimeError(f"the loops do not agree: {same_round}")
    targets = []
    for suffix in ("", ", with train loss", ", bherd run"):
        targets += [
            Target(f"fedavg, one core{suffix}", NUMPY, 1.1),
            Target(f"fedavg, two cores{suffix}", NUMPY, 0.7),
            Target(f"bherd-fedavg, one core{suffix}", f"fedavg, one core{suffix}", 1.2),
            Target(f"bherd-fedavg, two cores{suffix}", f"fedavg, two cores{suffix}", 1.2),
        ]
    title = "A: SVM, all of MNIST, 5 clients, B = 100"
    return [timing_table(title, NOTE.format(turns=turns), timings, NUMPY, targets)]
