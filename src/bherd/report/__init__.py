"""The report: one self-contained HTML page about one run, a comparison or a whole reproduction.

from bherd.report import build

build([Path("runs/my-comparison")], Path("report.html"))
"""

from collections.abc import Sequence
from pathlib import Path

__all__ = ["build"]


def build(paths: Sequence[Path], output: Path, title: str | None = None) -> Path:
    """Write the report of every run found under `paths` into `output`, and return where it is."""
    from bherd.report.find import runs_at
    from bherd.report.page import write_report
    from bherd.report.payload import make_payload
    from bherd.runs.read import read_run

    directories = runs_at(paths)
    runs = [read_run(directory) for directory in directories]
    return write_report(make_payload(runs, title), output)
