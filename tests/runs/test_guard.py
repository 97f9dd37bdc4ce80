"""Who may write into a run directory, what is refused, and what a start that fails leaves: nothing."""

import errno
import os
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from bherd.cli import main
from bherd.errors import InputError
from bherd.runs import directory as names
from bherd.runs import files
from bherd.runs.life import resume, run
from bherd.runs.read import read_run
from tests.small_runs import FINAL, contents, small_config, stop_after, stopped_run, tree


def test_changed_versions_are_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = stopped_run(tmp_path)
    version = metadata.version("torch")
    now = {**names.environment(), "torch": "99.1"}
    monkeypatch.setattr(names, "environment", lambda: now)
    said: list[str] = []
    assert resume(directory, on_warning=said.append)["status"] == "complete"
    assert len(said) == 1
    assert f"torch {version} -> 99.1" in said[0]
    assert "\n" not in said[0]
    assert read_run(directory).environment["torch"] == version


def test_unchanged_versions_are_no_warning(tmp_path: Path) -> None:
    said: list[str] = []
    resume(stopped_run(tmp_path), on_warning=said.append)
    assert said == []


def test_a_library_user_is_warned_in_pythons_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = stopped_run(tmp_path)
    monkeypatch.setattr(names, "environment", lambda: {})
    with pytest.warns(UserWarning, match="other versions"):
        resume(directory)


def test_the_command_says_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = stopped_run(tmp_path)
    now = {**names.environment(), "numpy": "99.2"}
    monkeypatch.setattr(names, "environment", lambda: now)
    assert main(["resume", str(directory), "--quiet"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "-> 99.2" in said[0]


def test_a_second_process_is_kept_out(tmp_path: Path) -> None:
    """A lock is of the open file, so that a second one in this process is refused as another's is."""
    directory = stopped_run(tmp_path)
    with files.locked(directory):
        before = tree(directory)
        with pytest.raises(InputError, match="in use by another"):
            resume(directory)
        assert tree(directory) == before
        (tmp_path / "empty").mkdir()
    with files.locked(tmp_path / "empty"):
        with pytest.raises(InputError, match="in use by another"):
            run(small_config(tmp_path), tmp_path / "empty")
        assert list((tmp_path / "empty").iterdir()) == []
    assert resume(directory)["status"] == "complete"


def test_the_lock_of_a_killed_process_is_gone(tmp_path: Path) -> None:
    directory = stopped_run(tmp_path)
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom bherd.runs.files import locked\n"
        "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(directory)], stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(InputError, match="in use by another"):
            resume(directory)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    assert resume(directory)["status"] == "complete"


def test_directories_that_are_refused(tmp_path: Path) -> None:
    config = small_config(tmp_path)
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "letter.txt").write_text("mine")
    with pytest.raises(InputError, match="not empty; choose another"):
        run(config, taken)
    assert tree(taken).keys() == {"letter.txt"}
    run(config, tmp_path / "run")
    before = tree(tmp_path / "run")
    with pytest.raises(InputError, match="bherd resume"):
        run(config, tmp_path / "run")
    assert tree(tmp_path / "run") == before
    with pytest.raises(InputError, match="not a folder"):
        run(config, taken / "letter.txt")
    with pytest.raises(InputError, match=r"letter\.txt"):
        run(config, taken / "letter.txt" / "run")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="does not exist"):
        run(config, tmp_path / "dangling")
    for nothing in (tmp_path / "nowhere", taken):
        with pytest.raises(InputError, match="not a run directory"):
            resume(nothing)


def test_a_link_to_a_folder_is_as_good_as_the_folder(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far")
    directory = tmp_path / "near"
    with pytest.raises(KeyboardInterrupt):
        run(small_config(tmp_path), directory, stop_after(1))
    resume(directory)
    assert directory.is_symlink()
    assert {path.name for path in (tmp_path / "far").iterdir()} == FINAL


def test_a_draft_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    directory = stopped_run(tmp_path)
    (tmp_path / "letter.txt").write_text("mine")
    (directory / f".{names.CHECKPOINT}.tmp").symlink_to(tmp_path / "letter.txt")
    resume(directory)
    assert (tmp_path / "letter.txt").read_text() == "mine"
    assert {path.name for path in directory.iterdir()} == FINAL


def test_drafts_left_by_a_kill_are_removed(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    (directory / f".{names.CONFIG}.tmp").write_text("half of i")  # killed in its first write
    run(small_config(tmp_path), directory)
    assert {path.name for path in directory.iterdir()} == FINAL
    for name in FINAL:
        (directory / f".{name}.tmp").write_text("half of i")
    resume(directory)
    assert {path.name for path in directory.iterdir()} == FINAL


@pytest.mark.parametrize("existing", [False, True])
def test_a_failed_start_leaves_nothing(
    existing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither files nor folders of ours; a folder that was there before stays."""
    directory = tmp_path / "runs" / "mine"
    if existing:
        directory.mkdir(parents=True)
    config = small_config(tmp_path)

    def broken(_: object) -> None:
        raise RuntimeError("the model does not take these samples")

    monkeypatch.setattr("bherd.session.Session.engine", broken)
    with pytest.raises(RuntimeError, match="does not take"):
        run(config, directory)
    assert directory.exists() == existing
    assert (tmp_path / "runs").exists() == existing
    assert tree(tmp_path).keys() == {"data.npz"}


def test_bad_input_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        run(small_config(tmp_path).replace(clients=500), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a read-only file system; the parents that could be made are taken back."""
    make = os.mkdir

    def mkdir(path: Path, mode: int = 0o777) -> None:
        if Path(path).name == "mine":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        make(path, mode)

    monkeypatch.setattr(os, "mkdir", mkdir)
    config = small_config(tmp_path)
    with pytest.raises(InputError, match=r"runs/mine cannot be written: Read-only file system"):
        run(config, tmp_path / "runs" / "mine")
    assert not (tmp_path / "runs").exists()


def test_a_read_only_run_says_so_and_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = stopped_run(tmp_path)
    before = tree(directory)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("unlink", "ftruncate", "write", "replace"):
        monkeypatch.setattr(os, name, refuse)
    with pytest.raises(InputError, match="Read-only file system"):
        resume(directory)
    monkeypatch.undo()
    assert tree(directory) == before


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """The system's own refusal, in the middle of a write: a limit on the size of files."""
    resource = pytest.importorskip("resource")
    config = small_config(tmp_path).replace(rounds=40)
    run(config, tmp_path / "whole")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    heeded = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (9000, before[1]))
        with pytest.raises(InputError, match=r"cannot be written: File too large; .*bherd resume"):
            run(config, tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heeded)
    resume(tmp_path / "run")
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")


def test_a_log_is_cut_back_to_its_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    log = files.Log(path, None)
    log.append(b"one\n")
    mark = log.commit()
    log.append(b"two, which no checkpoint knows of\n")
    log.close()
    again = files.Log(path, mark)
    assert path.read_bytes() == b"one\n"
    again.append(b"2\n")
    assert again.commit() == files.mark_of(b"one\n2\n")
    again.close()
    assert path.read_bytes() == b"one\n2\n"
    path.write_bytes(b"onE\n2\n")
    with pytest.raises(InputError, match=r"a\.log is damaged"):
        files.Log(path, mark)
    assert path.read_bytes() == b"onE\n2\n"
