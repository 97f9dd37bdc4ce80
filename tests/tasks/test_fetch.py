"""Fetching: verified, atomic, one source after another, and honest when all of them fail."""

import gzip
import hashlib
import io
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from bherd.errors import InputError
from bherd.tasks.datasets import fetch as fetching
from bherd.tasks.datasets import load_dataset
from bherd.tasks.datasets.fetch import fetch
from bherd.tasks.datasets.known import MNIST, KnownDataset, KnownFile
from bherd.tasks.datasets.progress import PlainLines, Progress, Silent, terminal_progress
from bherd.tasks.datasets.sources import Source
from bherd.tasks.datasets.tools import SourceError

CONTENT = {"one": b"first file", "two": b"second file"}


def known_for(name: str, content: dict[str, bytes], like: KnownDataset = MNIST) -> KnownDataset:
    files = tuple(
        KnownFile(file, len(body), hashlib.sha256(body).hexdigest()) for file, body in content.items()
    )
    return like._replace(name=name, files=files)


def writes(content: dict[str, bytes]) -> Source:
    def get(ready: Path, scratch: Path, progress: Progress) -> None:
        (scratch / "junk").write_bytes(b"packed")
        progress.update("downloading", 1, 2)
        for name, body in content.items():
            (ready / name).write_bytes(body)

    return Source("a local source", get)


def fails(error: BaseException) -> Source:
    def get(ready: Path, scratch: Path, progress: Progress) -> None:  # noqa: ARG001
        (ready / "one").write_bytes(CONTENT["one"][:3])
        raise error

    return Source("a broken source", get)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes ``toy`` the dataset that can be fetched, from the sources given."""

    def install(*listed: Source) -> None:
        monkeypatch.setattr(fetching, "KNOWN", {"toy": known_for("toy", CONTENT)})
        monkeypatch.setattr(fetching, "SOURCES", {"toy": listed})

    return install


def everything_under(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_fetch_leaves_the_files_and_nothing_else(tmp_path: Path, only: Callable[..., None]) -> None:
    only(writes(CONTENT))
    assert fetch("toy", tmp_path, Silent()) == tmp_path / "toy"
    assert everything_under(tmp_path) == {"toy/one": b"first file", "toy/two": b"second file"}
    assert [path.name for path in tmp_path.iterdir()] == ["toy"]


def test_the_cache_folder_is_the_default(
    tmp_path: Path, only: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / name))
    only(writes(CONTENT))
    assert fetch("toy", progress=Silent()) == tmp_path / "bherd" / "toy"


def test_what_is_there_and_whole_is_left_alone(tmp_path: Path, only: Callable[..., None]) -> None:
    only(writes(CONTENT))
    fetch("toy", tmp_path, Silent())
    before = (tmp_path / "toy" / "one").stat().st_mtime_ns
    only(fails(AssertionError("the source must not be asked")))
    said = io.StringIO()
    fetch("toy", tmp_path, PlainLines(said))
    assert "already in" in said.getvalue()
    assert (tmp_path / "toy" / "one").stat().st_mtime_ns == before


def test_a_damaged_file_is_replaced(tmp_path: Path, only: Callable[..., None]) -> None:
    only(writes(CONTENT))
    fetch("toy", tmp_path, Silent())
    (tmp_path / "toy" / "one").write_bytes(b"damaged")
    fetch("toy", tmp_path, Silent())
    assert everything_under(tmp_path / "toy") == CONTENT


def test_the_next_source_is_tried(tmp_path: Path, only: Callable[..., None]) -> None:
    altered = writes(CONTENT | {"two": b"SECOND file"})
    only(
        fails(SourceError("no network")),
        fails(gzip.BadGzipFile("not a gzip")),
        fails(zipfile.BadZipFile("not a zip")),
        altered,
        writes(CONTENT),
    )
    said = io.StringIO()
    fetch("toy", tmp_path, PlainLines(said))
    assert everything_under(tmp_path / "toy") == CONTENT
    for reason in ("no network", "not a gzip", "not a zip", "SHA-256"):
        assert reason in said.getvalue()


def test_all_failing_is_one_message_and_writes_nothing(tmp_path: Path, only: Callable[..., None]) -> None:
    only(fails(SourceError("no network")), writes(CONTENT | {"one": b"short"}))
    with pytest.raises(InputError, match="every source failed") as caught:
        fetch("toy", tmp_path, Silent())
    message = str(caught.value)
    assert "a broken source (no network)" in message
    assert "one is not the file it should be: it has 5 bytes where 10 were expected" in message
    assert everything_under(tmp_path) == {}


def test_an_interruption_leaves_no_half_file(tmp_path: Path, only: Callable[..., None]) -> None:
    only(fails(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        fetch("toy", tmp_path, Silent())
    assert list(tmp_path.iterdir()) == []


def test_a_kill_leaves_no_half_file_under_a_name(tmp_path: Path) -> None:
    """A process killed in the middle of writing: nothing lies where the loader would look."""
    script = (
        "import sys, time; from pathlib import Path\n"
        "from bherd.tasks.datasets import fetch as f\n"
        "from bherd.tasks.datasets.sources import Source\n"
        "def get(ready, scratch, progress):\n"
        "    (ready / 'train-images-idx3-ubyte').write_bytes(b'half')\n"
        "    print('writing', flush=True); time.sleep(60)\n"
        "f.SOURCES = {'mnist': (Source('slow', get),)}\n"
        "f.fetch('mnist', sys.argv[1])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.kill()
    assert not (tmp_path / "mnist").exists()
    left = list(tmp_path.glob(".fetch-mnist-*"))
    assert len(left) == 1
    yesterday = time.time() - 2 * 86_400
    os.utime(left[0], (yesterday, yesterday))
    fetching._remove_abandoned(tmp_path, ".fetch-mnist-")
    assert not left[0].exists()


def test_an_unwritable_destination(tmp_path: Path, only: Callable[..., None]) -> None:
    only(writes(CONTENT))
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be stored"):
        fetch("toy", tmp_path / "file", Silent())


def test_names_that_cannot_be_fetched() -> None:
    with pytest.raises(InputError, match="needs no fetching"):
        fetch("mnist-mini")
    with pytest.raises(InputError, match="Did you mean cifar10"):
        fetch("cifar-10")


def test_progress_on_a_terminal_and_elsewhere() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream in (io.StringIO(), Terminal()):
        with terminal_progress(stream) as progress:
            progress.update("downloading", 1_000_000, 2_000_000)
            progress.update("waiting", 0, None)
            progress.say("done [50%]")
        assert "done [50%]" in stream.getvalue()


@pytest.mark.slow
@pytest.mark.network
def test_mnist_for_real(tmp_path: Path) -> None:
    fetch("mnist", tmp_path, Silent())
    dataset = load_dataset("mnist", tmp_path)
    assert dataset.x_train.shape == (60_000, 1, 28, 28)
    assert dataset.y_test.tolist()[:5] == [7, 2, 1, 0, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["mnist"]
