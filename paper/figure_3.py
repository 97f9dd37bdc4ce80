"""Figures 3a to 3d: one setting of BHerd-FedAvg varied at a time."""

from paper.grid import make_curve
from paper.sweep import Sweep

ALPHA = Sweep(
    "3a",
    "α",
    "Influence of the share of gradients that are kept",
    lambda _workload: (0.1, 0.3, 0.5, 0.7, 1.0),
    lambda workload, case, step, value: make_curve(workload, case, "bherd-fedavg", step=step, alpha=value),
    apart=0.1,
)
EPOCHS = Sweep(
    "3b",
    "E",
    "Influence of the local epochs of a round",
    lambda _workload: (0.1, 0.5, 1.0, 1.5, 2.0),
    lambda workload, case, step, value: make_curve(workload, case, "bherd-fedavg", step=step, epochs=value),
)
BATCH_SIZE = Sweep(
    "3c",
    "B",
    "Influence of the size of a local batch",
    lambda workload: workload.batch_sizes,
    lambda workload, case, step, value: make_curve(
        workload, case, "bherd-fedavg", step=step, batch_size=int(value)
    ),
)
CLIENTS = Sweep(
    "3d",
    "N",
    "Influence of the number of clients",
    lambda _workload: (1, 5, 10, 15, 20),
    lambda workload, case, step, value: make_curve(
        workload, case, "bherd-fedavg", step=step, clients=int(value)
    ),
)
