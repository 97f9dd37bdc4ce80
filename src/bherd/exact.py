"""Numbers as people write them: 0.29 is 29/100, not the nearest binary fraction."""

from fractions import Fraction


def decimal(value: float) -> Fraction:
    """The number that the user wrote: 0.29 is 29/100, not the binary fraction just below it."""
    return Fraction(repr(float(value)))
