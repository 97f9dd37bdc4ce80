"""The data of the experiments: which of it is on the disk, and parts of it as files of their own."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from bherd.streams import stream
from bherd.tasks.datasets import is_on_disk, load_dataset
from paper.grid import Curve
from paper.scales import Scale, Subset

DATA_FOLDER = "data"
Labels = npt.NDArray[np.int64]


def has_cifar() -> bool:
    """Whether CIFAR-10 is where every command looks for it."""
    return is_on_disk("cifar10")


def prepare_data(scale: Scale, curves: list[Curve], work: Path) -> None:
    """Check that every dataset the curves need is there, and write the subsets that are not there yet."""
    wanted = {curve.workload for curve in curves}
    for workload in scale.workloads:
        if workload.name not in wanted:
            continue
        if isinstance(workload.data, Subset):
            write_subset(workload.data, work / DATA_FOLDER)
        else:
            load_dataset(workload.data)


def locate(scale: Scale, curve: Curve, work: Path) -> str:
    """The dataset of a curve as a run must be told: a name, or the path of a subset's file."""
    data = scale.workload(curve.workload).data
    return str(work / DATA_FOLDER / data.file) if isinstance(data, Subset) else data


def write_subset(subset: Subset, folder: Path) -> Path:
    """Draw as many samples of each label as the sizes allow and keep them as one .npz file."""
    path = folder / subset.file
    if path.is_file():
        return path
    whole = load_dataset(subset.source)
    train = draw(whole.y_train, subset.train, "train")
    test = draw(whole.y_test, subset.test, "test")
    folder.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp.npz")
    np.savez_compressed(
        temporary,
        x_train=whole.x_train[train],
        y_train=whole.y_train[train],
        x_test=whole.x_test[test],
        y_test=whole.y_test[test],
    )
    temporary.replace(path)
    return path


def draw(labels: Labels, count: int, half: str) -> Labels:
    """`count` rows, ascending, drawn so that every label has as many, to within one."""
    generator = stream(0, f"subset-{half}")
    shuffled = generator.permutation(len(labels))
    rank = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        rows = shuffled[labels[shuffled] == label]
        rank[rows] = np.arange(len(rows))
    chosen: Labels = np.sort(shuffled[np.argsort(rank[shuffled], kind="stable")][:count])
    return chosen
