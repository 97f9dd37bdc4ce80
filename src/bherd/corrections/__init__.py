"""What is done to every local gradient before it moves the model."""

from bherd.corrections.control_variates import control_variates
from bherd.corrections.none import no_correction

__all__ = ["control_variates", "no_correction"]
