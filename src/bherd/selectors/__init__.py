"""Which local gradients count: one file for each way of choosing."""

from bherd.selectors.everything import everything
from bherd.selectors.grab import grab, grab_indices
from bherd.selectors.herding import herd, herding, kept_count
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
