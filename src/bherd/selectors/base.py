"""The contract of a selector: which local steps count."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from bherd.parts.checks import check_share
from bherd.parts.part import Part
from bherd.parts.records import Kept

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor


class Selector(Part):
    """Chooses which of a client's local steps are summed and sent."""

    AXIS: ClassVar[str] = "selector"
    keeps_all: ClassVar[bool] = False
    """True lets an engine sum the steps as they come instead of storing them."""
    scales_with_epochs: ClassVar[bool] = True
    """Whether the factor E of the paper's aggregation belongs to this selector."""
    weighted: ClassVar[bool] = False
    """Whether it gives the kept steps weights of their own."""
    draws: ClassVar[bool] = True
    """Whether `select` draws from its stream; False: it is given None, which saves making one."""

    def nominal_share(self) -> float | None:
        """The share alpha that the server's step makes up for; None: measured, round by round."""
        return None

    def count(self, steps: int) -> int | None:
        """How many of so many steps it keeps, where that is known before they are seen."""
        del steps
        return None

    @abstractmethod
    def select(self, trace: "Tensor", stream: "np.random.Generator") -> Kept:
        """The kept steps of a trace of shape (steps, d): at least one, none twice.

        `Kept(indices)` counts each once, `Kept(indices, weights)` as often as its weight says. What comes
        back is checked by whoever calls.
        """


@dataclass(frozen=True)
class ShareSelector(Selector):
    """Base of the selectors that keep a nominal share: k = max(1, floor(alpha steps + 1/2))."""

    alpha: float = 0.5

    def __post_init__(self) -> None:
        check_share(self.alpha)

    def nominal_share(self) -> float:
        return self.alpha

    def count(self, steps: int) -> int:
        from bherd.algorithms.share import kept_count

        return kept_count(self.alpha, steps)
