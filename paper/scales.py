"""How large the experiments are: `smoke` to see that they work, `quick` for CPUs, `paper` for the paper's."""

from dataclasses import dataclass
from typing import Literal

from bherd.errors import InputError

WorkloadName = Literal["svm-mnist", "cnn-mnist", "cnn-cifar10"]
WORKLOADS: tuple[WorkloadName, ...] = ("svm-mnist", "cnn-mnist", "cnn-cifar10")


@dataclass(frozen=True)
class Subset:
    """A part of a dataset, drawn once and the same for every run."""

    source: str
    train: int
    test: int

    @property
    def file(self) -> str:
        """The name of the file that holds it."""
        return f"{self.source}-{self.train}-{self.test}.npz"


@dataclass(frozen=True)
class Workload:
    """One of the paper's three learning problems at some scale."""

    name: WorkloadName
    title: str
    model: str
    data: str | Subset
    rounds: int
    batch_size: int
    lr: float
    seeds: int
    eval_every: int = 1
    batch_sizes: tuple[int, ...] = (10, 50, 100, 500, 1000)
    """The values of figure 3c."""

    @property
    def dataset(self) -> str:
        """What the configuration of a run calls the data."""
        return self.data.file if isinstance(self.data, Subset) else self.data


@dataclass(frozen=True)
class Scale:
    """The three problems at one scale."""

    name: str
    svm: Workload
    cnn_mnist: Workload
    cnn_cifar: Workload
    conclusive: bool
    """Whether verdicts are given at this scale."""

    def workload(self, name: WorkloadName) -> Workload:
        """The problem of this name."""
        return {w.name: w for w in self.workloads}[name]

    @property
    def workloads(self) -> tuple[Workload, ...]:
        return (self.svm, self.cnn_mnist, self.cnn_cifar)


SCALE_NAMES = ("smoke", "quick", "paper")
ETAS = (0.01, 0.03, 0.1, 0.2, 0.4)
"""The learning rates among which the CNN's is chosen: the largest at which FedAvg is stable."""
LADDER = (0.003, *ETAS)
"""Where the rates below the chosen one are found."""
QUICK_CNN_LR = {"cnn-mnist": 0.1, "cnn-cifar10": 0.03}
"""Of ETAS; `python -m paper eta --scale quick` shows what the rule says, and the page prints both."""


def make_scale(name: str, cifar: bool) -> Scale:
    """The scale of this name; without `cifar`, generated images of CIFAR's shape stand in for it."""
    if name not in SCALE_NAMES:
        raise InputError(f"scale is {name!r}, but one of {', '.join(SCALE_NAMES)} is expected")
    source = "cifar10" if cifar else "synthetic-cifar"
    images = "CIFAR-10" if cifar else "synthetic stand-in for CIFAR-10"
    return {"smoke": _smoke, "quick": _quick, "paper": _paper}[name](source, images)


def _smoke(source: str, images: str) -> Scale:
    """Everything small; the numbers mean nothing, except that the machinery works."""
    return Scale(
        "smoke",
        Workload("svm-mnist", "SVM, mnist-mini (5 000)", "svm", "mnist-mini", 12, 100, 1e-3, 2),
        Workload(
            "cnn-mnist",
            "CNN, 200 of mnist-mini",
            "cnn",
            Subset("mnist-mini", 200, 50),
            2,
            10,
            0.03,
            2,
        ),
        Workload("cnn-cifar10", f"CNN, 200 of {images}", "cnn", Subset(source, 200, 50), 2, 10, 0.03, 2),
        conclusive=False,
    )


def _quick(source: str, images: str) -> Scale:
    """Full MNIST for the SVM but fewer rounds and seeds; the CNN on parts of the data, in three hours."""
    return Scale(
        "quick",
        Workload("svm-mnist", "SVM, MNIST (60 000)", "svm", "mnist", 100, 100, 1e-4, 5),
        Workload(
            "cnn-mnist",
            "CNN, 1 000 samples of MNIST",
            "cnn",
            Subset("mnist", 1000, 500),
            24,
            10,
            QUICK_CNN_LR["cnn-mnist"],
            5,
            eval_every=2,
        ),
        Workload(
            "cnn-cifar10",
            f"CNN, 1 000 samples of {images}",
            "cnn",
            Subset(source, 1000, 500),
            24,
            10,
            QUICK_CNN_LR["cnn-cifar10"],
            5,
            eval_every=2,
        ),
        conclusive=True,
    )


def _paper(source: str, images: str) -> Scale:
    """The paper's own sizes. The CNN at this scale wants a GPU."""
    return Scale(
        "paper",
        Workload("svm-mnist", "SVM, MNIST (60 000)", "svm", "mnist", 500, 100, 1e-4, 10),
        Workload("cnn-mnist", "CNN, MNIST (60 000)", "cnn", "mnist", 500, 100, 1e-4, 10),
        Workload("cnn-cifar10", f"CNN, {images} (50 000)", "cnn", source, 500, 100, 1e-4, 10),
        conclusive=True,
    )
