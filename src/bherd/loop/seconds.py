"""Where a round's time went."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Seconds:
    """The four phases of a round, on the clock."""

    local: float
    select: float
    aggregate: float
    evaluate: float

    @property
    def total(self) -> float:
        """The whole round."""
        return self.local + self.select + self.aggregate + self.evaluate
