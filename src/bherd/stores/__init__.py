"""Where a client's gradients are kept between training and selection: exactly, smaller, or not at all."""

from bherd.stores.base import Rows, Store
from bherd.stores.choices import STORES, make_store

__all__ = ["STORES", "Rows", "Store", "make_store"]
