"""Where the files of a public dataset may lie, and which of these places has them.

Places in order: the folder the user names, the folder in the environment variable BHERD_DATA, the
cache folder. In each of them the files may lie in a folder of the dataset's name, as torchvision
arranges them, or directly.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bherd.errors import InputError
from bherd.tasks.datasets.idx import find_idx, unpacked_sha256
from bherd.tasks.datasets.known import FASHION_MNIST, MNIST, KnownDataset

ENVIRONMENT_VARIABLE = "BHERD_DATA"
PICKLED = "cifar-10-batches-py"


class Place(NamedTuple):
    """A root folder that is searched, and why it is on the list."""

    root: Path
    why: str


class Found(NamedTuple):
    """The files of a dataset, in the order of ``KnownDataset.files``, and their folder."""

    folder: Path
    files: tuple[Path, ...]
    place: Place


class Search(NamedTuple):
    """The outcome of a look-up: what was found, if anything, and a remark on each place before."""

    found: Found | None
    remarks: tuple[str, ...]


def cache_folder() -> Path:
    """The folder for fetched data by the platform's convention."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("bherd"))


def check_data_dir(data_dir: str | Path | None) -> Path | None:
    if data_dir is None:
        return None
    folder = Path(data_dir).expanduser()
    if not folder.is_dir():
        state = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(
            f"The data folder {folder} {state}. Give an existing folder, or leave the option out "
            f"to use {ENVIRONMENT_VARIABLE} and the cache folder."
        )
    return folder


def places(data_dir: str | Path | None) -> tuple[Place, ...]:
    listed = []
    folder = check_data_dir(data_dir)
    if folder is not None:
        listed.append(Place(folder, "the data folder given"))
    from_environment = os.environ.get(ENVIRONMENT_VARIABLE)
    if from_environment:
        listed.append(Place(Path(from_environment).expanduser(), ENVIRONMENT_VARIABLE))
    listed.append(Place(cache_folder(), "the cache"))
    return tuple(listed)


def search(known: KnownDataset, data_dir: str | Path | None = None) -> Search:
    """Looks for ``known`` in every place; stops at the first folder that has all its files."""
    remarks: list[str] = []
    for place in places(data_dir):
        remark = "nothing of it there" if place.root.is_dir() else "no such folder"
        for folder in _candidates(known, place.root):
            files, lacking = _files_in(folder, known)
            other = _namesake(known, files)
            if not lacking and other is None:
                return Search(Found(folder, files, place), tuple(remarks))
            if other is not None:
                remark = f"the files in {folder} are those of {other}"
            elif files:
                remark = f"{folder} lacks {', '.join(lacking)}"
            elif (folder / PICKLED).is_dir():
                remark = f"{folder / PICKLED} is the pickled form, which is never read; the binary form is"
        remarks.append(f"{place.root} ({place.why}): {remark}")
    return Search(None, tuple(remarks))


def missing_message(known: KnownDataset, remarks: tuple[str, ...]) -> str:
    looked = "; ".join(remarks)
    return (
        f"The dataset {known.name} is not on this machine. Get it with: "
        f"bherd data fetch {known.name}  (or give its folder with --data-dir). Looked in: {looked}."
    )


def _candidates(known: KnownDataset, root: Path) -> Iterator[Path]:
    for base in (root / known.name, root / known.torchvision_folder, root):
        if known.folder == ".":
            yield base
        else:
            yield base / known.folder
            yield base


def _files_in(folder: Path, known: KnownDataset) -> tuple[tuple[Path, ...], list[str]]:
    """The files of ``known`` in ``folder`` and the names of those that are not there."""
    files: list[Path] = []
    lacking: list[str] = []
    for file in known.files:
        path = _find(folder, file.name)
        if path is None:
            lacking.append(file.name)
        else:
            files.append(path)
    return tuple(files), lacking


def _find(folder: Path, name: str) -> Path | None:
    if not name.endswith(".bin"):
        return find_idx(folder, name)
    path = folder / name
    return path if path.is_file() else None


def _namesake(known: KnownDataset, files: tuple[Path, ...]) -> str | None:
    """MNIST and Fashion-MNIST have the same file names: whose files these are, if not ours."""
    other = {MNIST.name: FASHION_MNIST, FASHION_MNIST.name: MNIST}.get(known.name)
    if other is None:
        return None
    digests = {file.sha256 for file in other.files}
    labels = (path for path in files if "labels" in path.name)
    return other.name if any(unpacked_sha256(path) in digests for path in labels) else None
