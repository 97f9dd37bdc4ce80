"""The size of an update on its way to the server."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor


def full_size(update: "Tensor") -> float:
    """The bits of an update that is sent number by number, as it is stored."""
    return 8.0 * update.numel() * update.element_size()
