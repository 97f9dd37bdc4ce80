"""Datasets by name: embedded, generated, fetched, or a user's own ``.npz`` file."""

from bherd.tasks.datasets.arrays import dataset_from_arrays
from bherd.tasks.datasets.dataset import Dataset, reading
from bherd.tasks.datasets.load import DATASET_NAMES, is_on_disk, load_dataset

__all__ = ["DATASET_NAMES", "Dataset", "dataset_from_arrays", "is_on_disk", "load_dataset", "reading"]
