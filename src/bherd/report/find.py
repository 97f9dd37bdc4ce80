"""Which run directories a user means: a run itself, or a folder with runs somewhere below."""

from collections.abc import Sequence
from pathlib import Path

from bherd.errors import InputError
from bherd.runs import directory as run_directory


def runs_at(paths: Sequence[Path]) -> list[Path]:
    """Every run directory at or below the paths, in order, none twice; none at all is an error."""
    found: dict[Path, Path] = {}
    for path in paths:
        below = runs_below(path)
        if not below:
            raise InputError(
                f"{path} holds no run: expected a folder with {run_directory.CONFIG}, or one with such "
                "folders below; `bherd run` and `bherd compare` make them"
            )
        for directory in below:
            found.setdefault(directory.resolve(), directory)
    return list(found.values())


def runs_below(path: Path) -> list[Path]:
    """The run directories at or below one path, sorted by name."""
    if not path.exists():
        raise InputError(f"{path} does not exist; give a run directory or a folder with runs")
    if not path.is_dir():
        raise InputError(f"{path} is a file; give a run directory or a folder with runs")
    return run_directory.find_runs(path)
