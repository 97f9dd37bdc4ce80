"""The stores by name."""

from collections.abc import Callable

from bherd.stores.base import Store
from bherd.stores.disk import DiskStore
from bherd.stores.half import HalfStore
from bherd.stores.memory import MemoryStore
from bherd.stores.sketch import SketchStore

STORES: dict[str, Callable[[int], Store]] = {
    "memory": lambda _seed: MemoryStore(),
    "half": lambda _seed: HalfStore(),
    "disk": lambda _seed: DiskStore(),
    "sketch": SketchStore,
}


def make_store(name: str, seed: int) -> Store:
    """The store of this name; the seed matters to `sketch`."""
    return STORES[name](seed)
