"""The inner products of the centred gradients: all of herding's work that grows with d."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from bherd.algorithms.scaling import in_range, squares_in_range

Gram = npt.NDArray[np.float64]

_BLOCK = 2**20
"""Numbers in a block of columns: 4 MB of float32, so that it stays in the cache."""


def centred_gram(trace: Tensor) -> tuple[Tensor, Gram]:
    """The trace, rescaled if it must be, and the Gram matrix of its rows less their mean.

    Centring and multiplying share one visit to each block of columns, so that the trace is read once
    and never copied; the products of the blocks are summed in double precision. Only a trace whose
    squares could leave the range of floats is rescaled, and read again.
    """
    gram, largest = _blockwise(trace)
    if not squares_in_range(largest, trace.dtype):
        trace = in_range(trace)
        centred = trace - trace.mean(0)
        gram, _ = _blockwise(in_range(centred - centred.mean(0)))
    return trace, gram


def _blockwise(trace: Tensor) -> tuple[Gram, float]:
    """The Gram matrix of the centred rows, and the largest entry of these; NaN where they overflow.

    Threads take whole blocks: to share out every small operation on a block costs more than it gains.
    """
    gram = torch.zeros((len(trace), len(trace)), dtype=torch.float64, device=trace.device)
    largest: list[Tensor] = []
    blocks = torch.split(trace, max(1024, _BLOCK // len(trace)), dim=1)
    threads = torch.get_num_threads()

    def add_up(parts: Iterable[tuple[Tensor, Tensor]]) -> None:
        for product, largest_part in parts:
            gram.add_(product)
            largest.append(largest_part)

    if threads == 1 or len(blocks) < 2 * threads or trace.device.type != "cpu":
        add_up(map(_block, blocks))
    else:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            add_up(pool.map(_block, blocks))
        torch.set_num_threads(threads)
    return gram.cpu().numpy(), float(torch.stack(largest).amax()) if largest else 0.0


def _block(narrow: Tensor) -> tuple[Tensor, Tensor]:
    """The part of the Gram matrix that some columns give, and the largest entry of what was multiplied."""
    block = narrow.to(torch.promote_types(narrow.dtype, torch.float32))
    centred = block - block.mean(0)
    centred -= centred.mean(0)  # what rounding left of a mean that is large beside the deviations
    return centred @ centred.T, torch.stack(centred.aminmax()).abs().amax()
