"""The most memory that a run took."""

import sys
from pathlib import Path


def start_peak() -> None:
    """Begin a new measurement, where the system can: on Linux, later runs do not inherit the peak."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak_bytes() -> int | None:
    """The largest resident size of this process since `start_peak`, or since it began."""
    if sys.platform == "win32":
        return None
    import resource

    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    for line in lines:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
