"""``bherd data``: what its commands print, write and refuse."""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bherd.cli import data
from bherd.errors import InputError


def run(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="bherd")
    data.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["data", *words])
    status: int = arguments.execute(arguments)
    return status


@pytest.fixture(autouse=True)
def _no_real_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BHERD_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    monkeypatch.chdir(tmp_path)


def test_the_module_imports_nothing_heavy() -> None:
    script = (
        "import sys, bherd.cli.data\n"
        "heavy = {'torch', 'numpy', 'matplotlib', 'rich', 'PIL'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or None)"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert finished.returncode == 0, finished.stderr.decode()


def test_list_says_what_is_missing_and_how_to_get_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    printed = capsys.readouterr().out
    for name in ("mnist-mini", "fashion-mnist", "synthetic-cifar", "PATH.npz"):
        assert name in printed
    assert "missing: bherd data fetch cifar10" in printed


def test_list_says_where_a_dataset_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "given" / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for name in (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"):
        (folder / name).touch()
    run("list", "--data-dir", "given")
    printed = capsys.readouterr().out
    assert "given/cifar-10-batches-bin" in printed
    assert "fetch cifar10" not in printed


def test_show_prints_a_table_and_saves_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "--partition", "dirichlet:0.5", "--clients", "3", "--seed", "1") == 0
    printed = capsys.readouterr().out
    rows = [line.split() for line in printed.splitlines()]
    held = np.array([[int(word.replace(".", "0")) for word in row[1:]] for row in rows[2:6]])
    np.testing.assert_array_equal(held[:3].sum(axis=0), held[3])
    np.testing.assert_array_equal(held[:, :-1].sum(axis=1), held[:, -1])
    assert held[3].tolist() == [500] * 10 + [5000]
    picture = tmp_path / "partition-mnist-mini-dirichlet-0.5.png"
    assert f"picture: {picture.name}" in printed
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == [picture.name]


def test_show_of_many_clients_is_cut_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    run("show", "--dataset", "synthetic", "--partition", "case1", "--clients", "60", "-o", "a/b.png")
    assert "40 of 60 clients" in capsys.readouterr().out
    assert Path("a/b.png").is_file()


def test_show_of_a_users_own_file() -> None:
    x, y = np.zeros((8, 2), np.float32), np.arange(8) % 2
    np.savez("mine.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    run("show", "--dataset", "mine.npz", "--partition", "case1", "--clients", "2")
    assert Path("partition-mine-case1.png").is_file()


def test_show_says_how_a_file_was_read(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = np.zeros((8, 5, 4), np.uint8), np.array(["cat", "dog"])[np.arange(8) % 2]
    np.savez("pets.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    run("show", "--dataset", "pets.npz", "--partition", "case2", "--clients", "2")
    printed = capsys.readouterr().out
    assert "8 + 8 samples of 1x5x4 pixels scaled to [0, 1], 2 classes (0 = cat, 1 = dog)" in printed
    assert ["client", "cat", "dog", "all"] in [line.split() for line in printed.splitlines()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "--dataset", "minst"), "Did you mean mnist"),
        (("show", "--dataset", "cifar10"), "bherd data fetch cifar10"),
        (("show", "-o", "picture.txt"), r"ending in \.png"),
        (("show", "--clients", "0"), "client"),
        (("show", "--data-dir", "nowhere"), "does not exist"),
        (("list", "--data-dir", "nowhere"), "does not exist"),
        (("fetch", "mnist", "nonsense"), "nonsense"),
        (("fetch", "synthetic"), "needs no fetching"),
    ],
)
def test_mistakes_are_one_message_and_write_nothing(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        run(*words)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_picture(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        run("show", "-o", "file/picture.png")


def test_fetch_goes_on_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fake(name: str, destination: str | None) -> None:
        asked.append((name, destination))
        if name == "mnist":
            raise InputError("mnist could not be fetched.")

    monkeypatch.setattr("bherd.tasks.datasets.fetch.fetch", fake)
    with pytest.raises(InputError, match="mnist could not be fetched"):
        run("fetch", "mnist", "cifar10", "mnist", "--data-dir", "there")
    assert asked == [("mnist", "there"), ("cifar10", "there")]
    assert run("fetch", "cifar10") == 0


@pytest.mark.parametrize("words", [(), ("fetch",), ("list",), ("show",)])
def test_help_teaches_by_example(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        run(*words, "--help")
    assert "examples:" in capsys.readouterr().out
