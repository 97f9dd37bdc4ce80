"""A directory for a new run: empty before, and gone again if the run fails before its first round."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bherd.errors import InputError
from bherd.runs import directory as run_directory
from bherd.runs.files import UnwritableError, locked, make_directory, temporary
from bherd.runs.read import read_run
from bherd.runs.recorder import remove_run


def check_new(directory: Path) -> None:
    """Refuse a directory that holds something already.

    A draft of a killed start does no harm, nor do the files of a federation that is about to begin.
    """
    if directory.is_symlink() and not directory.exists():
        raise InputError(f"{directory} is a link to a folder that does not exist; make it, or choose another")
    if directory.exists() and not directory.is_dir():
        raise InputError(f"{directory} exists and is not a folder")
    try:
        inside = {path.name for path in directory.iterdir()} if directory.exists() else set()
    except OSError as error:
        raise InputError(f"{directory} cannot be read: {error.strerror or error}") from error
    if inside - {temporary(directory / run_directory.CONFIG).name, run_directory.FEDERATION}:
        hint = (
            f"continue it with `bherd resume {directory}` or choose another --out"
            if run_directory.CONFIG in inside
            else "choose another --out"
        )
        raise InputError(f"{directory} is not empty; {hint}")


@contextmanager
def new_directory(directory: Path) -> Iterator[None]:
    """Make a directory and hold it; without a recorded round it is removed again if the run fails."""
    made = make_directory(directory)
    try:
        with locked(directory):
            check_new(directory)  # another process may have been quicker
            try:
                yield
            except Exception:
                if not has_rounds(directory):
                    with suppress(UnwritableError):
                        remove_run(directory)
                raise
    except Exception:
        with suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise


def has_rounds(directory: Path) -> bool:
    """Whether a round of the run in a directory is recorded."""
    try:
        return bool(read_run(directory).lines)
    except InputError:
        return False
