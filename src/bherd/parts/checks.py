"""What parts demand of their numbers, each in one pattern: what was given, what is expected, what to try."""

import math

from bherd.errors import InputError


def check_share(alpha: float) -> None:
    """Refuse a share outside (0, 1]."""
    check(
        0 < alpha <= 1,
        "alpha",
        alpha,
        "the share of gradients to keep must be in (0, 1]",
        "0.5, which keeps half",
    )


def check_positive(name: str, value: float) -> None:
    """Refuse what is not a positive number."""
    check(0 < value < math.inf, name, value, "must be a positive number", "1")


def check_not_negative(name: str, value: float) -> None:
    """Refuse what is below zero, or no number."""
    check(0 <= value < math.inf, name, value, "must be zero or a positive number", "0")


def check_fraction(name: str, value: float) -> None:
    """Refuse what is not in [0, 1)."""
    check(0 <= value < 1, name, value, "must be in [0, 1)", "0.9")


def check_count(name: str, value: int, least: int = 1) -> None:
    """Refuse a whole number below `least`."""
    check(value >= least, name, value, f"must be a whole number of {least} or more", str(least))


def check_clients(clients: tuple[int, ...]) -> None:
    """Refuse an empty list of clients, a number below zero, and a client named twice."""
    good = bool(clients) and min(clients) >= 0 and len(set(clients)) == len(clients)
    check(good, "clients", clients, "must name clients by their numbers from 0, none twice", "0+3+7")


def check(good: bool, name: str, value: object, expected: str, instead: str) -> None:
    """Raise `InputError` unless the value is good."""
    if not good:
        raise InputError(f"{name} = {value!r}: {expected}. Try {instead}.")
