"""Where this checkout is, and how another process finds its tests."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]


def python_path() -> str:
    """A PYTHONPATH by which `tests` can be imported, beside what is on it already."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
