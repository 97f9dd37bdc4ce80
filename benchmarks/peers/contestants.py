"""Who takes part, and how each is started."""

from typing import NamedTuple

from benchmarks.peers.environments import FEDLAB, FLOWER, FLUKE, OURS, PFL, Environment

BASELINE = "bherd, FedAvg"


class Contestant(NamedTuple):
    """One line of the tables."""

    name: str
    environment: Environment
    module: str
    """The module in this folder that runs it."""
    arguments: tuple[str, ...] = ()
    workloads: str = "ABC"
    fedavg: bool = True
    """Whether it computes FedAvg, and so must reach the accuracy of the others."""
    how: str = ""
    """What a reader should know of the way it was run."""


CONTESTANTS = (
    Contestant(
        "Flower simulation", FLOWER, "with_flower", ("1",), how="Ray backend, one worker on each core"
    ),
    Contestant(
        "Flower simulation, one worker",
        FLOWER,
        "with_flower",
        ("2",),
        "AB",
        how="two cores for a worker, as Flower does where nothing is said",
    ),
    Contestant("pfl", PFL, "with_pfl", how="simulated backend, one process"),
    Contestant("fluke", FLUKE, "with_fluke", how="its in-memory loader, accuracy only, one process"),
    Contestant("FedLab", FEDLAB, "with_fedlab", how="standalone pipeline, batches in memory, one process"),
    Contestant(
        "plain PyTorch loop", OURS, "with_loops", ("plain",), how="DataLoader, optimizer, state dicts"
    ),
    Contestant("tight PyTorch loop", OURS, "with_loops", ("tight",), how="slices in memory, no optimizer"),
    Contestant("tight numpy loop", OURS, "with_loops", ("numpy",), "AC", how="gradient in closed form"),
    Contestant(
        "bherd, FedAvg in memory", OURS, "with_ours", ("fedavg", "memory"), how="`simulate`, all cores"
    ),
    Contestant(
        BASELINE, OURS, "with_ours", ("fedavg", "directory"), how="recorded in a run directory, all cores"
    ),
    Contestant(
        "bherd, BHerd",
        OURS,
        "with_ours",
        ("bherd-fedavg", "directory"),
        fedavg=False,
        how="the same with herding of half of the gradients and its ledger",
    ),
)
