"""Which local gradients count: one file for each way of choosing."""

from bherd.algorithms.grab import grab_indices
from bherd.algorithms.herding import herd
from bherd.algorithms.share import kept_count
from bherd.selectors.everything import everything
from bherd.selectors.grab import grab
from bherd.selectors.herding import herding
from bherd.selectors.random import random_share
from bherd.selectors.reversed_herding import reversed_herding

__all__ = [
    "everything",
    "grab",
    "grab_indices",
    "herd",
    "herding",
    "kept_count",
    "random_share",
    "reversed_herding",
]
