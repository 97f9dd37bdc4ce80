"""Where the clients' work happens: `reference` in plain loops, `simulate` fast on one machine."""

from bherd.engines.reference import ReferenceEngine
from bherd.engines.simulate import SimulateEngine

__all__ = ["ReferenceEngine", "SimulateEngine"]
