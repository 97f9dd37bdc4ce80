"""The herding kernel: its growth in tau and d, beside the product Z Z^T and the pseudo-code."""

import torch
from torch import Tensor

from benchmarks.race import Contestant, race, repeated
from benchmarks.tables import Table, milliseconds
from bherd.algorithms.herding import herding_order

SHAPES = [(120, 785), (300, 785), (1200, 785), (120, 10_000), (120, 100_000), (120, 434_186), (600, 434_186)]
NOTE = (
    "Random gradients in float32, alpha = 0.5, torch on {threads} threads; minima over {turns} turns, "
    "interleaved (the pseudo-code once at d = 434,186, never at tau = 600). Herding includes centring and "
    "everything else, also close calls, of which the first costs a pass over the trace in double precision "
    "(at d = 100,000 there is one). Targets: at most 2 products at d = 434,186, under 60 ms at (1200, 785)."
)


def pseudo_code(trace: Tensor) -> list[int]:
    """The paper's algorithm, word by word: the norm of s + z for every candidate, k times."""
    centred = trace - trace.mean(0)
    total, taken = torch.zeros(trace.shape[1]), torch.zeros(len(trace))
    room, order = torch.empty_like(centred), []
    for _ in range(len(trace) // 2):
        norms = torch.linalg.vector_norm(torch.add(centred, total, out=room), dim=1) + taken
        best = int(norms.argmin())
        total += centred[best]
        taken[best] = torch.inf
        order.append(best)
    return order


def run(turns: int = 5) -> list[Table]:
    """All shapes, at two threads and at one, as the simulator's clients have it."""
    columns = ("tau", "d", "Z Z^T, ms", "herding, ms", "herding / product", "pseudo-code, ms", "same herd")
    tables = []
    for threads in (2, 1):
        rows = [_shape(steps, width, threads, turns) for steps, width in SHAPES]
        title = f"Herding on {threads} thread{'s' if threads > 1 else ''}"
        tables.append(Table(title, NOTE.format(threads=threads, turns=turns), columns, rows))
    return tables


def _shape(steps: int, width: int, threads: int, turns: int) -> tuple[str | int | float | None, ...]:
    trace = torch.randn(steps, width, generator=torch.Generator().manual_seed(0)) + 0.1
    large = steps * width > 10**7
    times = 1 if large else 5
    found: dict[str, list[int]] = {}

    def herd() -> None:
        found["ours"] = herding_order(trace, steps // 2).tolist()

    def slow() -> None:
        found["theirs"] = pseudo_code(trace)

    contestants = [
        Contestant("product", repeated(lambda: trace @ trace.T, times), threads),
        Contestant("herding", repeated(herd, times), threads),
    ]
    best = {timing.name: timing.minimum for timing in race(contestants, turns)}
    naive = None
    if threads > 1 and steps * width < 10**8:
        once = Contestant("pseudo-code", repeated(slow, 1, warm=0), threads)
        naive = race([once], 1 if large else turns)[0].minimum
    return (
        steps,
        width,
        milliseconds(best["product"]),
        milliseconds(best["herding"]),
        f"{best['herding'] / best['product']:.2f}",
        None if naive is None else milliseconds(naive),
        None if naive is None else ("yes" if set(found["ours"]) == set(found["theirs"]) else "no"),
    )
