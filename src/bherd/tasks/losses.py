"""The losses and counts that are known by name, and what may be done with them alone.

A loss that is the mean of one number per sample may be computed in parts whose results are averaged, and
a count in parts that are added. Of a user's function nobody knows that: with class weights, ignored
targets or pairs of samples it is not so. It is therefore given whole batches and all outputs at once.
What is known belongs to the function itself: put another in its place, and it is gone.
"""

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from bherd.errors import InputError

Loss = Callable[[Tensor, Tensor], Tensor]
"""(outputs, targets) -> the loss of a batch."""
Hits = Callable[[Tensor, Tensor], Tensor]
"""(outputs, targets) -> how many predictions are right, or another sum over samples."""

_NO_TARGET = -(2**63)
"""torch leaves out targets of -100 unless told otherwise; here every target counts."""


def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean of -log softmax(outputs) at the targets, which are classes or the probabilities of classes."""
    if outputs.ndim < 2:
        raise InputError(
            f"cross_entropy: the outputs have shape {tuple(outputs.shape)}: one row per sample and one score "
            "per class are expected. Let the model return (samples, classes)."
        )
    return functional.cross_entropy(outputs, targets, ignore_index=_NO_TARGET)


def squared_hinge(outputs: Tensor, targets: Tensor) -> Tensor:
    """Mean of 1/2 max(0, 1 - y f(x))^2, for outputs of shape (samples, 1) and targets of +1 and -1."""
    if outputs.shape != (len(targets), 1) or targets.ndim != 1:
        raise InputError(
            f"squared_hinge: outputs of shape {tuple(outputs.shape)} for targets of shape "
            f"{tuple(targets.shape)}: (samples, 1) and (samples,) are expected. "
            "Let the model return one number per sample."
        )
    return 0.5 * functional.relu(1 - targets * outputs.squeeze(1)).square().mean()


def class_hits(outputs: Tensor, targets: Tensor) -> Tensor:
    """How many samples have their largest output at the target."""
    return (outputs.argmax(1) == targets).sum()


def sign_hits(outputs: Tensor, targets: Tensor) -> Tensor:
    """How many outputs have the sign of their target; 0 counts as negative."""
    return ((outputs.squeeze(1) > 0) == (targets > 0)).sum()


def is_mean(loss: Loss) -> bool:
    """Whether a loss is known to be the mean of one number per sample.

    >>> is_mean(cross_entropy), is_mean(lambda outputs, targets: outputs.sum())
    (True, False)
    """
    return any(loss is known for known in (cross_entropy, squared_hinge))


def is_count(hits: Hits) -> bool:
    """Whether a metric is known to count samples."""
    return any(hits is known for known in (class_hits, sign_hits))
