"""The report: one self-contained HTML page about one run, a comparison or a whole reproduction.

from bherd.report import build

build([Path("runs/my-comparison")], Path("report.html"))
"""

from collections.abc import Sequence
from pathlib import Path

__all__ = ["build"]


def build(paths: Sequence[Path], output: Path, title: str | None = None) -> Path:
    """Write the report of every run found under `paths` into `output`, and return where it is."""
    from bherd.report.find import find_runs
    from bherd.report.page import write_page
    from bherd.report.payload import assemble
    from bherd.runs.read import read_run

    directories = find_runs(paths)
    runs = [read_run(directory) for directory in directories]
    return write_page(assemble(runs, title), output)
