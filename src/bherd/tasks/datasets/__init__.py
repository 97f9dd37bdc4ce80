"""Datasets by name: embedded, generated, fetched, or a user's own ``.npz`` file."""

from bherd.tasks.datasets.dataset import Dataset
from bherd.tasks.datasets.load import DATASET_NAMES, load_dataset

__all__ = ["DATASET_NAMES", "Dataset", "load_dataset"]
