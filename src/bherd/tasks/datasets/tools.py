"""What the sources of a fetch need from outside: a download over https, and other programs."""

import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, Protocol

from bherd.tasks.datasets.progress import Progress

CONNECT_SECONDS = 4.0
READ_SECONDS = 30.0
TOOL_SECONDS = 1800.0
CHUNK = 1 << 18


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class SourceError(Exception):
    """A source could not give the data; the message is the reason, for people."""


def download(url: str, target: Path, limit: int, progress: Progress) -> None:
    """Writes what ``url`` gives to ``target``, at most ``limit`` bytes of it."""
    what = f"downloading {url.rsplit('/', 1)[-1]}"
    try:
        with _open_in_time(url) as response, target.open("wb") as stream:
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() else None
            done = 0
            while piece := response.read(CHUNK):
                done += len(piece)
                if done > limit:
                    raise SourceError(f"{url} gave more than {limit:,} bytes")
                stream.write(piece)
                progress.update(what, done, total)
            if total is not None and done != total:
                raise SourceError(f"{url} broke off after {done:,} of {total:,} bytes")
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise SourceError(f"{url}: {reason}") from error


def _open_in_time(url: str) -> HTTPResponse:
    """Opens ``url``, giving up after CONNECT_SECONDS.

    A socket's own timeout does not cover the look-up of the host's name, which may hang for long
    on a machine without a network; so the opening happens in a thread that can be left behind.
    """
    answer: list[HTTPResponse | Exception] = []

    def attempt() -> None:
        try:
            answer.append(urllib.request.urlopen(url, timeout=READ_SECONDS))
        except Exception as error:  # handed over to the waiting thread
            answer.append(error)

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    if not answer:
        raise SourceError(f"{url}: no answer within {CONNECT_SECONDS:g} seconds")
    if isinstance(answer[0], Exception):
        raise answer[0]
    return answer[0]


def run_tool(arguments: Sequence[str], folder: Path, what: str, progress: Progress) -> None:
    """Runs a program in ``folder``; a failure becomes SourceError with its last words."""
    deadline = time.monotonic() + TOOL_SECONDS
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                arguments,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            raise SourceError(f"{arguments[0]} cannot be run ({error.strerror})") from error
        try:
            while process.poll() is None:
                progress.update(what, 0, None)
                if time.monotonic() > deadline:
                    raise SourceError(f"{what} did not end within {TOOL_SECONDS / 60:g} minutes")
                time.sleep(0.05)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        if process.returncode != 0:
            raise SourceError(f"{what} failed: {_last_words(output)}")


def _last_words(output: IO[bytes]) -> str:
    output.seek(0)
    lines = output.read().decode("utf-8", "replace").splitlines()
    errors = [line.strip() for line in lines if "error" in line.lower() or line.startswith("E:")]
    spoken = errors or [line.strip() for line in lines if line.strip()] or ["it gave no reason"]
    return spoken[0][:200]


def only_file(folder: Path, pattern: str) -> Path:
    """The one file in ``folder`` that a tool was asked to leave there."""
    files = sorted(folder.glob(pattern))
    if len(files) != 1:
        raise SourceError(f"expected one file {pattern}, found {len(files)}")
    return files[0]


def copy_exactly(source: Readable, target: Path, length: int) -> None:
    """Copies a stream that must be ``length`` bytes long; never writes more than that."""
    written = 0
    with target.open("wb") as stream:
        while piece := source.read(min(1 << 20, length - written + 1)):
            written += len(piece)
            if written > length:
                break
            stream.write(piece)
    if written != length:
        amount = "more" if written > length else f"{written:,} bytes"
        raise SourceError(f"{target.name} should have {length:,} bytes, the source has {amount}")
