"""On the full data: the table of the paper's page comes out, and the CNN learns. Minutes, so slow."""

from typing import NamedTuple

import pytest

from bherd import Config, methods, simulate
from bherd.errors import BherdError
from bherd.simulation import Result
from bherd.tasks.datasets import Dataset, load_dataset
from bherd.tasks.datasets.fetch import fetch
from bherd.tasks.task import build_task

pytestmark = [pytest.mark.slow, pytest.mark.network]

LOSS_TOLERANCE = 0.002
ACCURACY_TOLERANCE = 0.3


class Row(NamedTuple):
    """A line of the table: a method, and train loss and test accuracy in percent at two rounds."""

    name: str
    alpha: float | None
    step: str | None
    server_lr: float
    at_20: tuple[float, float]
    at_100: tuple[float, float] | None
    """None where round 100 is no property of the method but of the seed."""


TABLE = {
    "FedAvg": Row("fedavg", None, None, 1.0, (0.3213, 82.49), (0.2415, 84.66)),
    "BHerd 0.5": Row("bherd-fedavg", 0.5, "equation", 1.0, (0.3211, 82.46), (0.2412, 84.74)),
    "GraB": Row("grab-fedavg", None, "equation", 1.0, (0.3214, 82.38), (0.2415, 84.66)),
    "BHerd 0.5 amplified": Row("bherd-fedavg", 0.5, "amplified", 1.0, (0.2744, 83.15), (0.2289, 86.01)),
    "FedAvg, step 2": Row("fedavg", None, None, 2.0, (0.2745, 83.19), (0.2290, 86.09)),
    "random 0.5 amplified": Row("random-fedavg", 0.5, "amplified", 1.0, (0.2745, 83.18), (0.2290, 86.08)),
    "BHerd 0.3 amplified": Row("bherd-fedavg", 0.3, "amplified", 1.0, (0.2523, 83.95), (0.2235, 86.76)),
    "BHerd 0.1 amplified": Row("bherd-fedavg", 0.1, "amplified", 1.0, (0.2859, 85.56), None),
}
UNSTABLE_AT_100 = (0.5397, 72.15)


def dataset(name: str) -> Dataset:
    """From the cache, or fetched into it; a test that can have neither is skipped."""
    try:
        return load_dataset(name)
    except BherdError:
        pass
    try:
        fetch(name)
        return load_dataset(name)
    except (BherdError, OSError) as error:
        pytest.skip(f"{name} is not in the cache and cannot be fetched: {error}")


def run_row(row: Row, seed: int, rounds: int = 100) -> Result:
    """SVM, case 2, N = 5, B = 100, eta = 1e-4, no reshuffling, double precision, full MNIST."""
    dataset("mnist")
    config = Config().replace(
        dataset="mnist",
        model="svm",
        partition="case2",
        clients=5,
        batch_size=100,
        lr=1e-4,
        order="fixed",
        dtype="float64",
        eval_every=20,
        rounds=rounds,
        seed=seed,
        name=row.name,
        alpha=row.alpha,
        step=row.step,
        server_lr=row.server_lr,
    )
    return simulate(config)


def at(result: Result, number: int) -> tuple[float, float]:
    line = result.metrics[number - 1]
    assert line["round"] == number
    return line["train_loss"], 100 * line["test_accuracy"]


@pytest.mark.parametrize("label", TABLE)
def test_the_table_of_the_papers_page(label: str) -> None:
    """Within 0.002 in loss and 0.3 points in accuracy, at rounds 20 and 100.

    One seed stands for all: from seed 0 to seed 1 these numbers move by less than 0.0004 and 0.15 points
    where the method converges.
    """
    row = TABLE[label]
    result = run_row(row, seed=0, rounds=20 if row.at_100 is None else 100)
    for number, expected in ((20, row.at_20), (100, row.at_100)):
        if expected is not None:
            loss, accuracy = at(result, number)
            assert loss == pytest.approx(expected[0], abs=LOSS_TOLERANCE)
            assert accuracy == pytest.approx(expected[1], abs=ACCURACY_TOLERANCE)


def test_a_tenth_at_the_amplified_step_does_not_converge() -> None:
    """The last row at round 100: 0.5397 and 72.15 % on the page, for one seed of its own.

    There the run jumps about: over the seeds 0 to 9 we measured losses from 0.278 to 0.576 and
    accuracies from 71.2 to 85.9 %, so that no single value can be asked for. What can be: the
    page's value lies among those of eight seeds, and each seed does what the page says, it fails
    to converge: it is better at some round before, and falls below 80 % at one.
    """
    results = [run_row(TABLE["BHerd 0.1 amplified"], seed) for seed in range(8)]
    losses, accuracies = zip(*(at(result, 100) for result in results), strict=True)
    assert min(losses) < UNSTABLE_AT_100[0] < max(losses)
    assert min(accuracies) < UNSTABLE_AT_100[1] < max(accuracies)
    for result in results:
        course = [at(result, number) for number in (20, 40, 60, 80, 100)]
        assert course[-1][0] > 1.1 * min(loss for loss, _ in course)
        assert min(accuracy for _, accuracy in course) < 80


@pytest.mark.parametrize(
    ("name", "lr", "rounds", "loss", "accuracy"),
    [("mnist", 0.03, 3, 1.5, 0.6), ("cifar10", 0.02, 4, 2.2, 0.15)],
)
def test_the_cnn_learns(name: str, lr: float, rounds: int, loss: float, accuracy: float) -> None:
    """2,000 samples, two clients, a few rounds: the best is well away from guessing (2.303 and 0.1)."""
    data = dataset(name)
    some = data._replace(
        x_train=data.x_train[:2000],
        y_train=data.y_train[:2000],
        x_test=data.x_test[:1000],
        y_test=data.y_test[:1000],
    )
    task = build_task(some, "cnn", "case1", 2, seed=0)
    config = Config().replace(rounds=rounds, lr=lr, batch_size=10)
    result = simulate(config, task=task, method=methods.named("bherd-fedavg", alpha=0.5))
    assert result.diverged_at is None
    assert min(line["train_loss"] for line in result.metrics) < loss
    assert max(line["test_accuracy"] for line in result.metrics) > accuracy
