"""Which model is trained where none was asked for. Needs neither torch nor numpy."""

from dataclasses import replace

from bherd.config import Config
from bherd.errors import InputError

DIGITS = ("mnist-mini", "mnist")
"""Where even against odd is a question about the data, as in the paper's SVM."""


def with_model(config: Config) -> Config:
    """The configuration with its model named: svm on MNIST; any other dataset needs one by name.

    Raises:
        InputError: if there is no model and the classes of the dataset are not digits.

    >>> with_model(Config()).task.model
    'svm'
    """
    task = config.task
    if task.model is not None:
        return config
    if task.dataset not in DIGITS:
        raise InputError(_missing(task.dataset))
    return replace(config, task=replace(task, model="svm"))


def _missing(dataset: str) -> str:
    from bherd.tasks.datasets.load import DATASET_NAMES, unknown_message

    if not dataset.endswith(".npz") and dataset not in DATASET_NAMES:
        return unknown_message(dataset, DATASET_NAMES)
    return (
        "model is not set, and the default, svm, tells even digits from odd ones, which the classes of "
        f"{dataset} are not. Choose --model logistic, mlp, cnn or package.module:factory; --model svm takes "
        "even against odd class numbers."
    )
