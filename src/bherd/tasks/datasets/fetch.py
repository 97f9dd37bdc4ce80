"""``fetch``: gets a public dataset, checks every byte of it, and only then puts it in place."""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bherd.errors import InputError
from bherd.tasks.datasets.digest import complaint, is_whole
from bherd.tasks.datasets.known import KNOWN, KnownDataset
from bherd.tasks.datasets.load import DATASET_NAMES, unknown_message
from bherd.tasks.datasets.places import cache_folder
from bherd.tasks.datasets.progress import Progress, terminal_progress
from bherd.tasks.datasets.sources import SOURCES, UNPACKING_FAILS, Source
from bherd.tasks.datasets.tools import SourceError

ABANDONED_SECONDS = 86_400.0
DISK_TROUBLES = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)


def fetch(name: str, destination: str | Path | None = None, progress: Progress | None = None) -> Path:
    """Puts the dataset ``name`` into ``destination``/``name`` and returns that folder.

    The destination is the cache folder unless given. A dataset that is already there, with every
    SHA-256 as it should be, is left alone. Otherwise the sources are tried in order. Files appear
    under their names only when they are complete and verified, so an interruption leaves either
    the old file, the new one or none.
    """
    check_fetchable(name)
    root = cache_folder() if destination is None else Path(destination).expanduser()
    if progress is not None:
        return _fetch(KNOWN[name], SOURCES[name], root, progress)
    with terminal_progress() as shown:
        return _fetch(KNOWN[name], SOURCES[name], root, shown)


def check_fetchable(name: str) -> None:
    """Raises InputError unless ``name`` is a dataset that can be fetched."""
    if name in KNOWN:
        return
    if name in DATASET_NAMES:
        raise InputError(f"{name} needs no fetching: it comes with bherd. Use it as --dataset {name}.")
    raise InputError(unknown_message(name, tuple(KNOWN)))


def _fetch(known: KnownDataset, sources: Sequence[Source], root: Path, progress: Progress) -> Path:
    folder = root / known.name
    final = folder / known.folder
    if is_whole(final, known):
        progress.say(f"{known.name}: already in {folder}, every SHA-256 verified.")
        return folder
    failures: list[str] = []
    for source in sources:
        progress.say(f"{known.name}: trying {source.label}")
        try:
            _from_source(known, source, root, final, progress)
        except SourceError as failure:
            progress.say(f"{known.name}: no luck there: {failure}")
            failures.append(f"{source.label} ({failure})")
        else:
            size = sum(file.bytes for file in known.files) / 1e6
            progress.say(f"{known.name}: {size:.0f} MB in {folder}, every SHA-256 verified.")
            return folder
    raise InputError(
        f"{known.name} could not be fetched; every source failed: {'; '.join(failures)}. "
        "Nothing was written. Check the network, or put the files into a folder yourself and give "
        "it with --data-dir."
    )


def _from_source(known: KnownDataset, source: Source, root: Path, final: Path, progress: Progress) -> None:
    """Downloads beside the destination, verifies, and moves the files in one by one."""
    prefix = f".fetch-{known.name}-"
    try:
        root.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(root, prefix)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=root) as temporary:
            ready, scratch = Path(temporary, "ready"), Path(temporary, "scratch")
            ready.mkdir()
            scratch.mkdir()
            try:
                source.get(ready, scratch, progress)
            except (OSError, *UNPACKING_FAILS) as error:
                if isinstance(error, OSError) and error.errno in DISK_TROUBLES:
                    raise
                raise SourceError(f"what it gave cannot be unpacked ({error})") from error
            _verify(known, ready)
            final.mkdir(parents=True, exist_ok=True)
            for file in known.files:
                _to_disk(ready / file.name)
                (ready / file.name).replace(final / file.name)
    except OSError as error:
        raise InputError(
            f"{known.name} cannot be stored in {root}: {error.strerror or error}. Choose another "
            "folder with --data-dir, or make room."
        ) from error


def _verify(known: KnownDataset, ready: Path) -> None:
    for file in known.files:
        wrong = complaint(ready / file.name, file)
        if wrong is not None:
            raise SourceError(f"{file.name} is not the file it should be: {wrong}")


def _to_disk(path: Path) -> None:
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def _remove_abandoned(root: Path, prefix: str) -> None:
    """Clears what a killed fetch left behind, once it is a day old and surely nobody's."""
    for folder in root.glob(f"{prefix}*"):
        if time.time() - folder.stat().st_mtime > ABANDONED_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
