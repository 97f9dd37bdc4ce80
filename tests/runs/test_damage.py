"""A damaged or altered run directory is refused by name, and nothing in it is touched."""

import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bherd.config import Config
from bherd.errors import DamagedFileError, InputError
from bherd.runs import directory as names
from bherd.runs import life, seal
from bherd.runs.checkpoint import load_checkpoint, save_checkpoint
from bherd.runs.life import resume, run
from bherd.runs.read import read_config
from tests.small_runs import small_config, tree

UNFINISHED = (
    names.CONFIG,
    names.METRICS,
    names.CLIENTS_LOG,
    names.LEDGER_LOG,
    names.CHECKPOINT,
    names.PARTITION,
)
FINISHED = (names.CONFIG, names.METRICS, names.CLIENTS, names.LEDGER, names.MODEL, names.PARTITION)


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def cut_all(content: bytes) -> bytes:
    return content[:0]


def flip_at(share: float) -> Callable[[bytes], bytes]:
    def flip(content: bytes) -> bytes:
        place = int(share * (len(content) - 1))
        return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]

    return flip


DAMAGES = {
    "cut": cut,
    "emptied": cut_all,
    "first": flip_at(0.0),
    "early": flip_at(0.3),
    "late": flip_at(0.7),
    "last": flip_at(1.0),
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped after its second round."""
    directory = tmp_path_factory.mktemp("stopped") / "run"

    def stop(line: dict[str, object]) -> None:
        if line["round"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(small_config(directory.parent), directory, stop)
    return directory


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("complete") / "run"
    run(small_config(directory.parent), directory)
    return directory


def refused(directory: Path, name: str) -> str:
    before = tree(directory)
    with pytest.raises(InputError, match=re.escape(name)) as refusal:
        resume(directory)
    assert tree(directory) == before
    return str(refusal.value)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", UNFINISHED)
def test_a_damaged_file_of_an_unfinished_run(name: str, damage: str, stopped: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    (directory / names.CHECKPOINT).with_name(f".{names.CHECKPOINT}.tmp").write_bytes(b"left by a kill")
    path = directory / name
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    refused(directory, name)


@pytest.mark.parametrize("name", [n for n in UNFINISHED if n != names.CONFIG])
def test_a_missing_file_of_an_unfinished_run(name: str, stopped: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    (directory / name).unlink()
    assert "missing" in refused(directory, name)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        *((name, damage) for name in FINISHED for damage in DAMAGES),
        # the summary records the others; nothing records a digit of its own
        *((names.SUMMARY, damage) for damage in ("cut", "emptied", "first")),
    ],
)
def test_a_damaged_file_of_a_finished_run(name: str, damage: str, complete: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(complete, tmp_path / "run"))
    path = directory / name
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    refused(directory, name)


def test_every_single_byte_of_a_checkpoint_counts(stopped: Path, tmp_path: Path) -> None:
    path = tmp_path / names.CHECKPOINT
    content = (stopped / names.CHECKPOINT).read_bytes()
    path.write_bytes(content)
    assert seal.read_sealed(path).content == content
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(DamagedFileError, match=re.escape(str(path))):
            seal.read_sealed(path)


def test_every_single_byte_of_the_configuration_counts(
    stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever byte is flipped, no other run than the one that was begun is taken up."""
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    path = directory / names.CONFIG
    content = path.read_bytes()
    begun = read_config(stopped)

    class TakenUpError(Exception):
        pass

    def prepare(config: Config, *, task: None) -> None:
        del task
        free = config.run.workers, config.run.checkpoint_every
        assert config == begun.replace(workers=free[0], checkpoint_every=free[1])
        raise TakenUpError

    monkeypatch.setattr(life, "prepare", prepare)
    refusals = 0
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            resume(directory)
        except InputError as error:
            assert names.CONFIG in str(error)  # noqa: PT017
            refusals += 1
        except TakenUpError:
            changed = path.read_text().splitlines()
            different = [
                new for new, old in zip(changed, content.decode().splitlines(), strict=True) if new != old
            ]
            assert all(line.startswith(("workers = ", "checkpoint_every = ")) for line in different), (
                different
            )
    assert refusals >= len(content) - 3


@pytest.mark.parametrize(
    ("old", "new", "setting"),
    [
        ("rounds = 3", "rounds = 4", "train.rounds is 4"),
        ("lr = 0.05", "lr = 0.06", "train.lr is 0.06"),
        ("cohort = 1.0", "cohort = 1", "train.cohort is 1 "),
        ("seed = 0", "seed = 1", "run.seed is 1"),
        ('correction = "control-variates"', 'correction = "none"', "method.name is 'bherd-fedavg'"),
        ('selector = "herding,alpha=0.5"', 'selector = "grab"', "method.name is 'grab-scaffold'"),
        ('server = "sgd,lr=1.0"', 'server = "sgd,lr=1.5"', "method.server is 'sgd,lr=1.5'"),
        ('order = "fixed"', 'order = "reshuffled"', "method.order is 'reshuffled'"),
    ],
)
def test_an_altered_setting_is_named(old: str, new: str, setting: str, stopped: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    path = directory / names.CONFIG
    text = path.read_text()
    assert text.count(f"\n{old}\n") == 1
    path.write_text(text.replace(f"\n{old}\n", f"\n{new}\n"))
    assert setting in refused(directory, names.CONFIG)


def test_a_setting_that_is_younger_than_the_run_counts_with_its_default(
    stopped: Path, complete: Path, tmp_path: Path
) -> None:
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    path = directory / names.CONFIG
    text = path.read_text()
    path.write_text(text.replace('\nstore = "auto"\n', "\n").replace('\nserver = "sgd,lr=1.0"\n', "\n"))
    assert path.read_text() != text
    checkpoint = load_checkpoint(directory / names.CHECKPOINT)
    del checkpoint.header.origin.config["run"]["store"]
    del checkpoint.header.origin.config["method"]["server"]
    save_checkpoint(directory / names.CHECKPOINT, checkpoint)
    path.write_text(path.read_text().replace("[method]\n", "[method]\nserver_lr = 2.0\n"))
    expected = "method.server is 'sgd,lr=2.0' in config.toml, but the run began with 'sgd,lr=1.0'"
    assert expected in refused(directory, names.CONFIG)
    path.write_text(path.read_text().replace("server_lr = 2.0\n", ""))
    assert resume(directory)["status"] == "complete"
    assert (directory / names.MODEL).read_bytes() == (complete / names.MODEL).read_bytes()


def test_settings_that_change_no_result_may_change(stopped: Path, complete: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    path = directory / names.CONFIG
    path.write_text(
        path.read_text()
        .replace("\nworkers = 1\n", "\nworkers = 3\n")
        .replace("\ncheckpoint_every = 1\n", "\ncheckpoint_every = 0\n")
    )
    assert resume(directory, workers=2)["status"] == "complete"
    assert (directory / names.MODEL).read_bytes() == (complete / names.MODEL).read_bytes()


def test_another_dataset_is_noticed(stopped: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    data = stopped.parent / "data.npz"
    content = data.read_bytes()
    arrays = dict(np.load(data))
    arrays["x_train"][77, 3] += 0.001
    try:
        np.savez(data, **arrays)
        assert "dataset" in refused(directory, str(directory))
    finally:
        data.write_bytes(content)


class Bomb:
    """Unpickling this is noticed."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise AssertionError('unpickled')",)


@pytest.mark.parametrize("array", ["rows", "sizes"])
def test_nothing_is_unpickled(stopped: Path, tmp_path: Path, array: str) -> None:
    """Not even from a partition whose hash nobody has recorded yet."""
    directory = Path(shutil.copytree(stopped, tmp_path / "run"))
    for name in (names.CHECKPOINT, names.METRICS, *names.FINAL_OF, names.SUMMARY):
        (directory / name).unlink()
    np.savez(directory / names.PARTITION, allow_pickle=True, **{array: np.array([Bomb()], dtype=object)})
    assert zipfile.is_zipfile(directory / names.PARTITION)
    refused(directory, names.PARTITION)
