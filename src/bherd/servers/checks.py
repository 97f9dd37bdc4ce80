"""What every server rule demands of its settings."""

import math

from bherd.errors import InputError
from bherd.method import STEP_LENGTHS


def check_rule(step: str, server_lr: float) -> None:
    """Refuse an unknown step length and a server learning rate that is not a positive number."""
    if step not in STEP_LENGTHS:
        raise InputError(f"step is {step!r}, but one of {', '.join(STEP_LENGTHS)} is expected")
    if not (math.isfinite(server_lr) and server_lr > 0):
        raise InputError(f"server_lr is {server_lr!r}, but a positive number is expected")
