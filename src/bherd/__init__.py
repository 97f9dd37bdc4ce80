"""bherd: gradient selection for federated learning.

    import bherd

    kept = bherd.herd(gradients, alpha=0.5)              # (steps, d) -> kept indices
    result = bherd.simulate(bherd.Config())              # a whole federation, in memory
    parts = bherd.partition(labels, "case2", clients=5)  # who holds what

Names are imported when they are first used, so that `import bherd` costs nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bherd import methods as methods
    from bherd.algorithms.grab import grab_indices
    from bherd.algorithms.herding import herd as herd
    from bherd.api import compare as compare
    from bherd.api import resume as resume
    from bherd.api import run as run
    from bherd.collector import Collector as Collector
    from bherd.config import Config as Config
    from bherd.config import MethodConfig as MethodConfig
    from bherd.config import RunConfig as RunConfig
    from bherd.config import TaskConfig as TaskConfig
    from bherd.config import TrainConfig as TrainConfig
    from bherd.errors import BherdError as BherdError
    from bherd.errors import InputError as InputError
    from bherd.method import Method as Method
    from bherd.simulation import Result as Result
    from bherd.simulation import simulate as simulate
    from bherd.tasks.partitions import partition as partition

    grab = grab_indices

_HOMES = {
    "compare": ("bherd.api", "compare"),
    "resume": ("bherd.api", "resume"),
    "run": ("bherd.api", "run"),
    "Collector": ("bherd.collector", "Collector"),
    "Config": ("bherd.config", "Config"),
    "MethodConfig": ("bherd.config", "MethodConfig"),
    "RunConfig": ("bherd.config", "RunConfig"),
    "TaskConfig": ("bherd.config", "TaskConfig"),
    "TrainConfig": ("bherd.config", "TrainConfig"),
    "BherdError": ("bherd.errors", "BherdError"),
    "InputError": ("bherd.errors", "InputError"),
    "Method": ("bherd.method", "Method"),
    "grab": ("bherd.algorithms.grab", "grab_indices"),
    "herd": ("bherd.algorithms.herding", "herd"),
    "Result": ("bherd.simulation", "Result"),
    "simulate": ("bherd.simulation", "simulate"),
    "partition": ("bherd.tasks.partitions", "partition"),
}
__all__ = [*_HOMES, "methods"]


def __getattr__(name: str) -> Any:
    if name == "methods":
        return importlib.import_module("bherd.methods")
    if name not in _HOMES:
        raise AttributeError(f"module 'bherd' has no attribute {name!r}")
    module, attribute = _HOMES[name]
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
